#pragma once
// What the binding of the general path offers to others.
#include <optional>

#include "bind.h"
#include "strata/evaluate.h"

namespace strata::bind {

void bind_evaluate(nb::module_& m);
void bind_schedule(nb::module_& m);
/// A Semiring, a text, or None (plus-times).
Semiring to_semiring(nb::handle h);
/// A Schedule, a text, or None.
std::optional<Schedule> to_schedule(nb::handle h);
/// A tensor, an array, or a TensorType; several by name.
PlanOperand plan_operand(nb::handle h);
PlanOperands plan_operands(const nb::dict& operands);
/// A result as Python gets it: a tensor, or an array where it is dense.
nb::object result_of(const Tensor& t, Package package);

}  // namespace strata::bind
