#pragma once
#include "ops/direct/unit.h"

namespace strata::direct {

/// Is it work on the stored values alone, whatever their coordinates? Then the nest of loops is one loop over all slots, which
/// compilers make vectors of.
bool is_flat(const Unit& unit, const Order& order);
/// That loop's result. Nothing where run_unit() gives nothing.
std::optional<Tensor> run_flat(const Unit& unit, const Order& order);
std::string describe_flat(const Unit& unit, const Order& order, bool code);

}  // namespace strata::direct
