// The front door of expressions: which way one goes.
#include "ops/evaluate/front.h"

#include <algorithm>

#include "expr/depth.h"
#include "ops/evaluate/index_values.h"
#include "ops/evaluate/mask.h"
#include "ops/evaluate/memo.h"
#include "ops/evaluate/padded.h"
#include "ops/evaluate/pattern.h"
#include "ops/evaluate/ways.h"
#include "plan/trace.h"
#include "strata/ops.h"

namespace strata {
namespace {

using evaluation::check_names;
using evaluation::Destination;
using evaluation::with_true_mask;

void check_scales(const Destination& to, const EvaluateOptions& options) {
  if (to.scales() && options.semiring != Semiring::plus_times)
    throw PlanError({.what = "alpha and beta have no meaning in a semiring",
                     .expected = "alpha 1 and beta 0",
                     .got = "semiring " + options.semiring.to_string()});
}

/// What may be remembered: masks, semirings and schedules never lead to a plan, and what is to be shown is made anew.
bool may_have_plan(const EvaluateOptions& o) {
  return !planning::Trace::on() && !o.mask && !o.general && !o.schedule && o.semiring == Semiring::plus_times;
}
evaluation::Choices choices_of(const EvaluateOptions& o, const Destination& to) {
  return {o.format, o.dtype, o.compute_dtype, o.result_dtype, to.out ? std::optional(to.out->dtype()) : std::nullopt};
}

/// What makes an assignment; the name of its result does not count.
struct AssignmentKey {
  Expression value;
  std::vector<std::string> indices;
  bool operator==(const AssignmentKey&) const = default;
};

std::map<std::string, Tensor> by_name(std::span<const Tensor> operands) {
  std::map<std::string, Tensor> out;
  for (std::size_t k = 0; k < operands.size(); ++k) out.emplace(operand_name(k), operands[k]);
  return out;
}

/// What has served is looked for before all else next time.
template <class Key>
void remember(evaluation::Memo<Key>& memo, Key key, const EvaluateOptions& options, const Destination& to,
              evaluation::Remembered found) {
  memo.insert({.key = std::move(key),
               .choices = choices_of(options, to),
               .types = std::move(found.types),
               .epoch = planning::Epoch::now(),
               .names = std::move(found.names),
               .plan = std::move(found.plan),
               .alpha = found.alpha,
               .factor = found.factor});
}

Tensor run_here(const Assignment& a, const std::map<std::string, Tensor>& operands, const EvaluateOptions& options,
                const Destination& to) {
  check_names(a, operands);
  check_scales(to, options);
  thread_local evaluation::Memo<AssignmentKey> memo;
  const bool memorable = !a.accumulate && may_have_plan(options);
  if (memorable) {
    const auto type = [&](const auto& entry, std::size_t k) {
      const auto it = operands.find(entry.names[k]);
      return it == operands.end() ? nullptr : &it->second.type();
    };
    if (const auto* known = memo.find({a.value, a.indices}, choices_of(options, to), type)) {
      std::vector<Tensor> list;
      for (const auto& n : known->names) list.push_back(operands.at(n));
      const Plan plan = known->plan;
      return known->alpha ? evaluation::delivered(evaluation::run_in_pattern(plan, list, Scalar(*known->alpha)), to)
                          : evaluation::run_plan(plan, list, evaluation::times(to, known->factor));
    }
  }
  if (const auto whole = evaluation::with_index_values(a, operands))
    return run_here(whole->assignment, whole->operands, options, to);
  if (const auto inside = evaluation::with_padding(a, operands, options))
    return run_here(inside->assignment, inside->operands, inside->options, to);
  std::map<std::string, Shape> shapes;
  for (const auto& [name, t] : operands) shapes.emplace(name, t.shape());
  static_cast<void>(index_extents(a, shapes));  // what does not fit is said in the caller's own words
  const evaluation::Request request(a, operands, options, to);
  Tensor result = evaluation::by_first_way(request);
  if (memorable && request.found) remember(memo, {a.value, a.indices}, options, to, *std::move(request.found));
  return result;
}

Tensor run(const Assignment& a, const std::map<std::string, Tensor>& operands, const EvaluateOptions& options,
           const Destination& to) {
  return on_a_large_stack(stack_for(a.value.depth()), [&] { return run_here(a, operands, options, to); });
}

Tensor run_here(const Einsum& e, std::span<const Tensor> operands, const EvaluateOptions& options,
                const Destination& to) {
  if (e.operands.size() != operands.size())
    throw ExpressionError({.what = "the expression and the operands differ in number",
                           .expected = std::to_string(e.operands.size()),
                           .got = std::to_string(operands.size())});
  check_scales(to, options);
  thread_local evaluation::Memo<Einsum> memo;
  const bool memorable = may_have_plan(options);
  if (memorable) {
    const auto type = [&](const auto&, std::size_t k) { return &operands[k].type(); };
    if (const auto* known = memo.find(e, choices_of(options, to), type))
      return evaluation::run_plan(Plan(known->plan), operands, to);
  }
  std::vector<Shape> shapes;
  for (const auto& t : operands) shapes.push_back(t.shape());
  static_cast<void>(index_extents(e, shapes));
  const auto named = by_name(operands);
  const Assignment a = to_assignment(e);
  const evaluation::Request request(a, named, options, to, &e);
  Tensor result = evaluation::by_first_way(request);
  // (Of a product in a pattern the operands may stand in another order.)
  if (memorable && request.found && !request.found->alpha) remember(memo, e, options, to, *std::move(request.found));
  return result;
}

Tensor run(const Einsum& e, std::span<const Tensor> operands, const EvaluateOptions& options, const Destination& to) {
  return on_a_large_stack(stack_for(static_cast<int>(operands.size())),
                          [&] { return run_here(e, operands, options, to); });
}

}  // namespace

Tensor evaluate(const Assignment& a, const std::map<std::string, Tensor>& operands, const EvaluateOptions& options) {
  return run(a, operands, with_true_mask(options), {});
}
Tensor evaluate(std::string_view text, const std::map<std::string, Tensor>& operands, const EvaluateOptions& options) {
  return evaluate(parse_assignment(text), operands, options);
}
Tensor evaluate(const Einsum& e, std::span<const Tensor> operands, const EvaluateOptions& options,
                const Scalar& alpha) {
  return run(e, operands, with_true_mask(options), {.alpha = alpha});
}
void evaluate_into(const Assignment& a, const std::map<std::string, Tensor>& operands, const Tensor& out,
                   const EvaluateOptions& options, const Scalar& alpha, const Scalar& beta) {
  run(a, operands, with_true_mask(options), {out, alpha, beta});
}
void evaluate_into(const Einsum& e, std::span<const Tensor> operands, const Tensor& out, const EvaluateOptions& options,
                   const Scalar& alpha, const Scalar& beta) {
  run(e, operands, with_true_mask(options), {out, alpha, beta});
}

Tensor einsum(std::string_view text, std::span<const Tensor> operands, const EvaluateOptions& options) {
  std::vector<int> ranks;
  for (const auto& t : operands) ranks.push_back(t.rank());
  const Einsum e = parse_einsum(text, ranks);
  return evaluate(e, operands, options);
}

}  // namespace strata
