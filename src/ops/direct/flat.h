#pragma once
#include "ops/direct/unit.h"

namespace strata::direct {

/// Elements of a row, on the average, below which a loop over one is all about its end.
inline constexpr std::int64_t short_row = 32;

/// How a result in a pattern runs over its slots: in one loop where its values depend on no coordinate, or where rows
/// are short and their coordinates can be given; otherwise in a nest of loops.
Order::Slots slots_of(const Unit& unit, const Order& order);
/// Order::alone: values as vectors, which are added, multiplied, ... as dense ones are. Nothing where run_unit() gives
/// nothing.
std::optional<Tensor> run_flat(const Unit& unit, const Order& order);
/// The loop over the slots as a C file.
std::string emit_flat(const Unit& unit, const Order& order, const std::string& expression);
std::string describe_flat(const Unit& unit, const Order& order, bool code);

}  // namespace strata::direct
