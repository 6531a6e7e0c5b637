#pragma once
// Dense operands that a nest reads row by row, from the start of a cache line.
#include <span>

#include "plan/nest/unit.h"

namespace strata::direct {

/// What a nest in this order reads so.
std::vector<AlignedRows> aligned_rows(const Unit& unit, const Order& order);
/// The operands of its accesses, with copies where these pay.
std::vector<Tensor> with_aligned_rows(const Order& order, std::span<const Tensor> operands);

}  // namespace strata::direct
