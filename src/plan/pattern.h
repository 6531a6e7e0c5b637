#pragma once
// Products whose result has the pattern of their one sparse operand: SDDMM, scaling, gradients. The result shares that
// operand's pos and crd arrays and has values of its own.
#include "plan/plan_impl.h"

namespace strata::planning {

[[noreturn]] inline void refuse(std::string what, std::string expected, std::string got, std::string fix = {}) {
  throw PlanError(
      {.what = std::move(what), .expected = std::move(expected), .got = std::move(got), .fix = std::move(fix)});
}

/// The operand whose pattern an output of this type has; -1: the output is dense.
int pattern_operand(std::span<const TensorType> operands, const TensorType& output);
/// The type of the result; PlanError where there is no such operand, or its indices are not the output's.
TensorType type_in_pattern(const Einsum& e, std::span<const TensorType> operands, const Shape& shape, DType dtype);
/// Compiled code; Unsupported where the lowering refuses.
RunnerPtr choose_in_pattern(const Product& product, std::vector<Report>& reports);
/// The operand's arrays with fresh values; slots outside of the tensor hold 0.
Tensor fresh_in_pattern(const Choice& choice, std::span<const Tensor> operands);
/// out = alpha * einsum + beta * out; PlanError where `out` does not stand over the operand's own arrays.
void run_in_pattern(const Choice& choice, std::span<const Tensor> operands, const Tensor& out, const Scalar& alpha,
                    const Scalar& beta);

}  // namespace strata::planning
