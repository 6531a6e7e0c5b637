#pragma once
#include "strata/evaluate.h"
#include "strata/plan.h"

namespace strata::evaluation {

/// One product of one sparse operand (fill 0, all of whose indices are the output's) and dense ones, into that
/// operand's own pattern: SDDMM, scaling, gradients. By compiled code.
struct PatternProduct {
  Plan plan;
  std::vector<std::string> names;  ///< of the operands in the plan's order
  std::vector<Tensor> operands;
  Scalar alpha;
  bool lasting = false;  ///< found by types alone: it serves others of these types too
};
/// Nothing where the expression is of another kind, or nothing compiles here; and `why`.
std::optional<PatternProduct> product_in_pattern(const Assignment& a, const std::map<std::string, Tensor>& operands,
                                                 const EvaluateOptions& options, std::string& why);
/// alpha * the product, in fresh memory.
Tensor run_in_pattern(const Plan& plan, std::span<const Tensor> operands, const Scalar& alpha);
/// 1 where this tensor of one part stores something: one value for all.
Tensor ones_of(const Tensor& t, DType dtype);
/// Every element that the format has room for is a stored one, and there once.
bool stores_all(const Format& f);
/// May ones where this mask stores something, as a factor, stand for it? (Not for its complement.)
bool is_factor(const EvaluateOptions& options, std::size_t rank);
/// These ones, a new operand.
Expression mask_as_factor(const Tensor& mask, DType dtype, const std::vector<std::string>& indices,
                          std::map<std::string, Tensor>& operands);

}  // namespace strata::evaluation
