// The front door of expressions: which way one goes.
#include "ops/evaluate/front.h"

#include <algorithm>

#include "expr/depth.h"
#include "ops/convert_elements.h"
#include "ops/direct/direct.h"
#include "ops/evaluate/dtypes.h"
#include "ops/evaluate/index_values.h"
#include "ops/evaluate/mask.h"
#include "ops/evaluate/memo.h"
#include "ops/evaluate/padded.h"
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

Format format_of(const Assignment& a, const std::map<std::string, TensorType>& types, const EvaluateOptions& options,
                 bool into) {
  if (into) return conversion::dense_format(static_cast<int>(a.indices.size()));
  return options.format ? *options.format : result_format(a, types, options).format;
}

/// Operands of a product as a plan takes them: `names[k]` is called `operands[k]`.
std::vector<Tensor> loaded(const evaluation::Dtypes& dtypes, std::span<const std::string> names,
                           std::vector<Tensor> operands) {
  if (operands.empty()) return operands;
  DType product = operands[0].dtype();
  for (const Tensor& t : operands) product = promote(product, t.dtype());
  for (std::size_t k = 0; k < operands.size(); ++k) operands[k] = dtypes.loaded(names[k], operands[k], product);
  return operands;
}
bool all_same(std::span<const Tensor> a, std::span<const Tensor> b) {
  return std::ranges::equal(a, b, [](const Tensor& x, const Tensor& y) { return x.same_object(y); });
}

std::vector<TensorType> types_of(std::span<const Tensor> operands) {
  std::vector<TensorType> out;
  for (const auto& t : operands) out.push_back(t.type());
  return out;
}

/// Where a result is not scaled on its way into fresh memory, a product of many may go pair by pair.
bool in_pairs(const Assignment& a, const std::map<std::string, Tensor>& operands, std::size_t factors,
              const Destination& to) {
  return factors > 2 && (to.out || !to.scales()) && direct::pays_in_pairs(a, operands);
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

/// Where a product that has this factor in front goes.
Destination times(Destination to, const Scalar& factor) {
  const auto value = factor.to_complex();
  if (value == 1.0) return to;
  const auto alpha = to.alpha.to_complex() * value;
  to.alpha = alpha.imag() == 0 ? Scalar::of(alpha.real()) : Scalar::of(alpha);
  return to;
}

std::map<std::string, Tensor> by_name(std::span<const Tensor> operands) {
  std::map<std::string, Tensor> out;
  for (std::size_t k = 0; k < operands.size(); ++k) out.emplace(operand_name(k), operands[k]);
  return out;
}

std::map<std::string, TensorType> types_of(const std::map<std::string, Tensor>& operands) {
  std::map<std::string, TensorType> out;
  for (const auto& [name, t] : operands) out.emplace(name, t.type());
  return out;
}

using AssignmentMemo = evaluation::Memo<AssignmentKey>;

/// `memo`: where a product in a pattern is noted, or null.
Tensor without_plan(const Assignment& a, const std::map<std::string, Tensor>& operands, EvaluateOptions options,
                    const Destination& to, AssignmentMemo* memo = nullptr) {
  if (!to.out && !to.beta.is_zero())
    throw PlanError({.what = "beta needs memory to write into", .expected = "an output", .fix = "give out="});
  if (to.out) options.format.reset();
  std::optional<evaluation::PatternProduct> found;
  const Tensor result = evaluation::by_first_way({a, operands, options, memo ? &found : nullptr});
  if (found && found->lasting)
    memo->insert({{a.value, a.indices},
                  choices_of(options, to),
                  types_of(found->operands),
                  planning::Epoch::now(),
                  found->names,
                  found->plan,
                  found->alpha});
  if (!to.out) return to.scales() ? evaluation::scaled(result, to.alpha) : result;
  evaluation::write(result, to);
  return *to.out;
}

Tensor run_here(const Assignment& a, const std::map<std::string, Tensor>& operands, const EvaluateOptions& options,
                const Destination& to) {
  check_names(a, operands);
  check_scales(to, options);
  thread_local AssignmentMemo memo;
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
      return known->alpha ? evaluation::run_in_pattern(plan, list, Scalar(*known->alpha))
                          : evaluation::run_plan(plan, list, times(to, known->factor));
    }
  }
  if (const auto whole = evaluation::with_index_values(a, operands))
    return run_here(whole->assignment, whole->operands, options, to);
  if (const auto inside = evaluation::with_padding(a, operands, options))
    return run_here(inside->assignment, inside->operands, inside->options, to);
  std::map<std::string, Shape> shapes;
  for (const auto& [name, t] : operands) shapes.emplace(name, t.shape());
  static_cast<void>(index_extents(a, shapes));  // what does not fit is said in the caller's own words
  const evaluation::Dtypes dtypes(a, operands, options);
  std::vector<std::string> names;
  auto types = types_of(operands);
  for (auto& [name, type] : types) type.dtype = dtypes.of(name, type.dtype);
  Scalar factor = Scalar::of(std::int64_t{1});
  const auto e =
      dtypes.asked() ? evaluation::as_einsum(a, types, names) : evaluation::as_scaled_einsum(a, types, names, factor);
  // What adds to its own memory may do so in place.
  const bool in_place = a.accumulate && to.out && !to.scales() && to.out->type() == operands.at(a.name).type() &&
                        to.out->format().is_all_dense() &&
                        to.out->part().values.data == operands.at(a.name).part().values.data;
  if (e && (!a.accumulate || in_place) && !in_pairs(a, operands, names.size(), to)) {
    std::vector<Tensor> given;
    for (const auto& n : names) given.push_back(operands.at(n));
    Destination whole = times(to, factor);
    if (in_place) whole.beta = Scalar::of(std::int64_t{1});
    const auto list = loaded(dtypes, names, given);
    const auto list_types = types_of(list);
    if (const auto plan = evaluation::plan_product(*e, list_types, dtypes.plan_options(),
                                                   format_of(a, types, options, to.out.has_value()), whole)
                              .plan) {
      if (memorable && all_same(list, given))
        memo.insert({.key = {a.value, a.indices},
                     .choices = choices_of(options, to),
                     .types = list_types,
                     .epoch = planning::Epoch::now(),
                     .names = names,
                     .plan = *plan,
                     .factor = factor});
      return evaluation::run_plan(*plan, list, whole);
    }
  }
  if (dtypes.asked()) return without_plan(a, dtypes.cast(operands), dtypes.options(), to);
  return without_plan(a, operands, options, to, memorable && !to.out ? &memo : nullptr);
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
  const evaluation::Dtypes dtypes(a, named, options);
  if (!in_pairs(a, named, operands.size(), to)) {
    std::vector<std::string> names;
    for (std::size_t k = 0; k < operands.size(); ++k) names.push_back(operand_name(k));
    const auto list = loaded(dtypes, names, {operands.begin(), operands.end()});
    const auto types = types_of(list);
    if (const auto plan = evaluation::plan_product(e, types, dtypes.plan_options(),
                                                   format_of(a, types_of(named), options, to.out.has_value()), to)
                              .plan) {
      if (memorable && all_same(list, operands))
        memo.insert({e, choices_of(options, to), types, planning::Epoch::now(), {}, *plan});
      return evaluation::run_plan(*plan, list, to);
    }
  }
  return dtypes.asked() ? without_plan(a, dtypes.cast(named), dtypes.options(), to)
                        : without_plan(a, named, options, to);
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
