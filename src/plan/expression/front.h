#pragma once
// What stands behind the front door of expressions.
#include <algorithm>
#include <map>
#include <optional>
#include <string>

#include "plan/asked.h"
#include "strata/plan.h"

namespace strata::evaluation {

/// ExpressionError where an operand that `a` names is missing, and is no index whose value is meant.
template <class T>
void check_names(const Assignment& a, const std::map<std::string, T>& operands) {
  auto needed = a.value.operands();
  if (a.accumulate) needed.push_back(a.name);
  const auto is_index = [&](const std::string& name) {
    const auto indices = index_values(a);
    return std::ranges::find(indices, name) != indices.end();
  };
  for (const auto& name : needed)
    if (!operands.contains(name) && !is_index(name))
      throw ExpressionError({.what = "no operand '" + name + "'",
                             .expected = "a tensor of this name",
                             .got = "none",
                             .fix = "give " + name + "="});
}

using planning::Destination;

/// The same, of a product that has this factor in front.
Destination times(Destination to, const Scalar& factor);
Tensor run_plan(const Plan& plan, std::span<const Tensor> operands, const Destination& to);
/// Copies a result of another way: out = alpha * result + beta * out. PlanError: another shape, or of a sparse one
/// another type or pattern; DTypeError: out is of a lower kind.
void write(const Tensor& result, const Destination& to);
/// The result of another way, where it is to go. As write() and scaled().
Tensor delivered(Tensor result, const Destination& to);
/// alpha * t, as t is stored. PlanError: t's dtype does not hold alpha.
Tensor scaled(const Tensor& t, const Scalar& alpha);
/// DTypeError where values of `from` lose their kind in `to` (complex, float, integer, truth value).
void check_kind(DType from, DType to);

/// The assignment as an einsum over operands in order of appearance, if it is one product of plain accesses; `a += b`
/// is read as `a = b`.
std::optional<Einsum> as_einsum(const Assignment& a, const std::map<std::string, TensorType>& types,
                                std::vector<std::string>& operands);

/// A product where an extent of 1 stands beside a longer index of the same name: with an index of its own there, which
/// is summed. Nothing where there is none, or all operands are dense: these are seen as if they were longer.
std::optional<Assignment> with_own_indices(const Assignment& a, const Operands& operands);

/// The same, where numbers may stand among the factors of floats of one dtype: `factor` is their product, and what a
/// plan multiplies sums by.
std::optional<Einsum> as_scaled_einsum(const Assignment& a, const std::map<std::string, TensorType>& types,
                                       std::vector<std::string>& operands, Scalar& factor);

}  // namespace strata::evaluation
