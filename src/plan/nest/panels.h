#pragma once
// Long sums in the slots of a pattern, a panel of their terms at a time: the weights' gradient of a pruned layer (512
// rows of a batch, say) reads what a core's second level holds then, not the third or memory.
#include <span>

#include "plan/nest/unit.h"

namespace strata::direct {

/// Panels that may pay for this order.
std::optional<SumPanels> panels_of(const Unit& unit, const Order& order);
/// Do they for these operands of its accesses?
bool pay(const SumPanels& panels, const Order& order, std::span<const Tensor> operands);
/// As run_unit().
std::optional<Tensor> run_in_panels(const SumPanels& panels, const Unit& unit, const Order& order,
                                    std::span<const Tensor> operands);
/// For explain().
std::string text_of(const SumPanels& panels, const Unit& unit, const Order& order);

}  // namespace strata::direct
