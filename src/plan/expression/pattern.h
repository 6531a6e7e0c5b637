#pragma once
#include "plan/asked.h"
#include "strata/plan.h"

namespace strata::evaluation {

/// One product of one sparse operand (fill 0, all of whose indices are the output's) and dense ones, into that
/// operand's own pattern: SDDMM, scaling, gradients. By compiled code.
struct PatternProduct {
  Plan plan;
  Einsum einsum;
  std::vector<std::string> names;  ///< of the operands in the plan's order
  std::vector<Lazy> operands;
  Scalar alpha;
  bool lasting = false;  ///< found by types alone: it serves others of these types too
};
/// Nothing where the expression is of another kind, or nothing compiles here; and `why`.
std::optional<PatternProduct> product_in_pattern(const Assignment& a, const Operands& operands, const Asked& options,
                                                 std::string& why);
/// alpha * the product, in fresh memory.
Tensor run_in_pattern(const Plan& plan, std::span<const Tensor> operands, const Scalar& alpha);

}  // namespace strata::evaluation
