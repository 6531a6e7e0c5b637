#pragma once
// From a question about operands to a plan, which is remembered.
#include "plan/expression/dtypes.h"
#include "plan/expression/front.h"
#include "plan/memory.h"

namespace strata::evaluation {

using planning::Asking, planning::Counts, planning::PlannedPtr;

/// The plan for this, made where it is not remembered. ExpressionError, DTypeError, TensorError ...
PlannedPtr plan_for(const Asking& asking);
/// The same as a plan that users have, for results that are to go to such memory.
Plan make_plan(const Assignment& a, const PlanOperands& operands, const EvaluateOptions& options,
               const Destination::Outline& to);
/// ... and its result, where that is to go.
Tensor run(const Asking& asking, const Destination& to);
/// The same of a plan that is there, on tensors by position.
Tensor run(const planning::Program& program, std::span<const Tensor> tensors, const Destination& to);
/// What explain() says before the ways: operands, and the result's format.
std::string heading(const Assignment& a, const Operands& operands, const Dtypes& dtypes);
/// ... and behind them: about how much work a program takes whose operands have so many bytes.
std::string cost(const planning::Program& program, double bytes_of_operands);

}  // namespace strata::evaluation
