#pragma once
#include "plan/nest/unit.h"

namespace strata::direct {

/// Elements of a row, on the average, below which a loop over one is all about its end.
inline constexpr std::int64_t short_row = 32;

/// How a result in a pattern runs over its slots: in one loop where its values depend on no coordinate, or where rows
/// are short and their coordinates can be given; otherwise in a nest of loops.
Order::Slots slots_of(const Unit& unit, const Order& order);

}  // namespace strata::direct
