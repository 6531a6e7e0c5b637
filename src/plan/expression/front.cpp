// The front door of expressions.
#include "plan/expression/front.h"

#include <algorithm>

#include "expr/depth.h"
#include "plan/expression/planning.h"
#include "strata/convert.h"

namespace strata {
namespace {

using evaluation::check_names;
using evaluation::Destination;

void check_scales(const Destination& to, const EvaluateOptions& options) {
  if (to.scales() && options.semiring != Semiring::plus_times)
    throw PlanError({.what = "alpha and beta have no meaning in a semiring",
                     .expected = "alpha 1 and beta 0",
                     .got = "semiring " + options.semiring.to_string()});
}

/// Does it add to the memory that it writes into?
bool adds_in_place(const Assignment& a, const std::map<std::string, Tensor>& operands, const Destination& to) {
  if (!a.accumulate || !to.out || to.scales() || !to.out->format().is_all_dense()) return false;
  const Tensor &before = operands.at(a.name), &out = *to.out;
  return out.type() == before.type() && out.part().values.data == before.part().values.data;
}

Tensor run(const Assignment& a, const std::map<std::string, Tensor>& operands, const EvaluateOptions& options,
           const Destination& to) {
  return on_a_large_stack(stack_for(a.value.depth()), [&] {
    check_names(a, operands);
    check_scales(to, options);
    std::vector<std::string> names;
    std::vector<Tensor> tensors;
    for (const auto& [name, t] : operands) {
      names.push_back(name);
      tensors.push_back(t);
    }
    if (options.mask) tensors.push_back(*options.mask);
    Destination::Outline target = to.outline();
    target.adds_in_place = adds_in_place(a, operands, to);
    return evaluation::run({.assignment = &a, .options = &options, .to = target, .names = names, .tensors = tensors},
                           to);
  });
}

Tensor run(const Einsum& e, std::span<const Tensor> operands, const EvaluateOptions& options, const Destination& to) {
  return on_a_large_stack(stack_for(static_cast<int>(operands.size())), [&] {
    if (e.operands.size() != operands.size())
      throw ExpressionError({.what = "the expression and the operands differ in number",
                             .expected = std::to_string(e.operands.size()),
                             .got = std::to_string(operands.size())});
    check_scales(to, options);
    std::vector<Tensor> with_mask;
    std::span<const Tensor> tensors = operands;
    if (options.mask) {
      with_mask.assign(operands.begin(), operands.end());
      with_mask.push_back(*options.mask);
      tensors = with_mask;
    }
    return evaluation::run({.einsum = &e, .options = &options, .to = to.outline(), .tensors = tensors}, to);
  });
}

}  // namespace

Tensor evaluate(const Assignment& a, const std::map<std::string, Tensor>& operands, const EvaluateOptions& options) {
  return run(a, operands, options, {});
}
Tensor evaluate(std::string_view text, const std::map<std::string, Tensor>& operands, const EvaluateOptions& options) {
  return evaluate(parse_assignment(text), operands, options);
}
Tensor evaluate(const Einsum& e, std::span<const Tensor> operands, const EvaluateOptions& options,
                const Scalar& alpha) {
  return run(e, operands, options, {.alpha = alpha});
}
void evaluate_into(const Assignment& a, const std::map<std::string, Tensor>& operands, const Tensor& out,
                   const EvaluateOptions& options, const Scalar& alpha, const Scalar& beta) {
  run(a, operands, options, {out, alpha, beta});
}
void evaluate_into(const Einsum& e, std::span<const Tensor> operands, const Tensor& out, const EvaluateOptions& options,
                   const Scalar& alpha, const Scalar& beta) {
  run(e, operands, options, {out, alpha, beta});
}

Tensor einsum(std::string_view text, std::span<const Tensor> operands, const EvaluateOptions& options) {
  std::vector<int> ranks;
  for (const auto& t : operands) ranks.push_back(t.rank());
  const Einsum e = parse_einsum(text, ranks);
  return evaluate(e, operands, options);
}

}  // namespace strata
