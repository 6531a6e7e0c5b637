#include "ops/direct/direct.h"

#include <algorithm>

#include "ops/direct/fold.h"
#include "ops/direct/lift.h"
#include "ops/direct/loops.h"
#include "ops/direct/plain.h"
#include "ops/evaluate/contract.h"
#include "plan/trace.h"
#include "strata/ops.h"

namespace strata::direct {
namespace {

std::map<std::string, Shape> shapes_of(const std::map<std::string, Tensor>& operands) {
  std::map<std::string, Shape> out;
  for (const auto& [name, t] : operands) out.emplace(name, t.shape());
  return out;
}

/// The sums at the root, and a cheaper order of contraction of what stands below them.
Expression contracted(const Expression& value, const std::map<std::string, Tensor>& operands,
                      const std::map<std::string, std::int64_t>& extents) {
  std::vector<std::string> names;
  bool implicit = true;
  Expression body = value;
  while (body.op() == Operator::sum) {
    names.push_back(body.node().name);
    implicit = implicit && body.node().implicit;
    body = body.argument();
  }
  if (names.empty()) return value;
  const auto describe = [&](const Expression& e) {
    evaluation::Factor f{.expression = e, .rows = 1, .indices = e.free_indices(), .dtype = {}};
    const Expression& inner = e.op() == Operator::conjugate ? e.argument() : e;
    if (inner.op() != Operator::access) return f;
    const Tensor& t = operands.at(inner.node().name);
    f.rows = static_cast<double>(t.nse());
    f.dtype = t.dtype();
    return f;
  };
  body = evaluation::contract(body, names, implicit, describe, [&](const std::string& i) { return static_cast<double>(extents.at(i)); });
  // A sum that was carried out inside is gone from the outside.
  const auto free = body.free_indices();
  for (auto n = names.rbegin(); n != names.rend(); ++n)
    if (std::find(free.begin(), free.end(), *n) != free.end()) body = Expression::reduce(Operator::sum, *n, body, implicit);
  return body;
}

bool has_inner_reduction(const Expression& e) {
  if (is_reduction(e.op())) return true;
  return std::any_of(e.node().arguments.begin(), e.node().arguments.end(), has_inner_reduction);
}

/// Peels the reductions of one kind off the root.
Expression peeled(const Expression& value, std::vector<std::pair<std::string, bool>>& sums) {
  Expression body = value;
  while (is_reduction(value.op()) && body.op() == value.op()) {
    sums.emplace_back(body.node().name, body.node().implicit);
    body = body.argument();
  }
  return body;
}

Format wanted_format(const Assignment& a, const std::map<std::string, Tensor>& operands, const EvaluateOptions& options) {
  if (options.format) return *options.format;
  std::map<std::string, TensorType> types;
  for (const auto& [name, t] : operands) types.emplace(name, t.type());
  return result_format(a, types, options).format;
}

/// An expression made ready: accesses plain, factors in a cheap order, the reductions of the root apart.
struct Prepared {
  Plain plain;
  std::map<std::string, std::int64_t> extents;
  EvaluateOptions options;  ///< with the result's format
  Assignment unit;
  std::vector<std::pair<std::string, bool>> sums;
  Expression body;          ///< below `sums`
};

std::optional<Prepared> prepare(const Assignment& a, const std::map<std::string, Tensor>& operands,
                                const EvaluateOptions& options, std::string& why) {
  if (a.accumulate) {
    why = "it adds to what is there";
    return std::nullopt;
  }
  Prepared p;
  p.options = options;
  p.options.format = wanted_format(a, operands, options);
  if (p.options.format->rank() != static_cast<int>(a.indices.size())) {
    why = "the format has another rank";  // the general path says it properly
    return std::nullopt;
  }
  p.extents = index_extents(a, shapes_of(operands));
  auto plain = with_plain_accesses(a, operands, p.extents, options.semiring != Semiring::plus_times, why);
  if (!plain) return std::nullopt;
  p.plain = std::move(*plain);
  p.unit = p.plain.assignment;
  // A user's products need not distribute over sums.
  if (options.semiring.kind() != Semiring::user) p.unit.value = contracted(p.unit.value, p.plain.operands, p.extents);
  p.body = peeled(p.unit.value, p.sums);
  return p;
}

/// Reductions inside first, then what is left.
Tensor in_steps(const Prepared& p) {
  const Lifted lift = lifted(p.body, p.plain.assignment.indices, p.plain.operands, p.options);
  Assignment rest = p.plain.assignment;
  rest.value = lift.value;
  for (auto sum = p.sums.rbegin(); sum != p.sums.rend(); ++sum)
    rest.value = Expression::reduce(p.unit.value.op(), sum->first, rest.value, sum->second);
  return strata::evaluate(rest, lift.operands, p.options);
}

/// The one nest of loops of an expression without inner reductions.
std::optional<Loops> loops_of(const Prepared& p, std::string& why) {
  Problem problem;
  problem.assignment = p.unit;
  problem.operands = p.plain.operands;
  problem.options = p.options;
  problem.extents = p.extents;
  return make_loops(problem, {}, why);
}

}  // namespace

std::optional<Tensor> evaluate(const Assignment& a, const std::map<std::string, Tensor>& operands,
                               const EvaluateOptions& options, std::string& why) {
  const auto p = prepare(a, operands, options, why);
  if (!p) return std::nullopt;
  if (has_inner_reduction(p->body)) return in_steps(*p);
  if (const auto fold = folded(p->unit, p->plain.operands, p->options)) {
    auto tensors = p->plain.operands;
    tensors.emplace(fold->work.name, strata::evaluate(fold->work, tensors, {.format = fold->format}));
    return strata::evaluate(fold->product, tensors, p->options);
  }
  const auto loops = loops_of(*p, why);
  if (!loops) return std::nullopt;
  const Format& wanted = *p->options.format;
  if (planning::Trace::on())
    planning::Trace::add("generated code: " + loops->assignment.to_string(), loops->describe(true));
  auto result = loops->run();
  if (!result) {
    why = "there is no compiler";
    return std::nullopt;
  }
  const DType dtype = options.dtype.value_or(result->dtype());
  if (result->format() == wanted && result->dtype() == dtype) return result;
  return convert(*result, wanted, {.dtype = dtype, .zeros = Zeros::keep});
}

std::optional<std::string> explain(const Assignment& a, const std::map<std::string, Tensor>& operands,
                                   const EvaluateOptions& options, std::string& why) {
  const auto p = prepare(a, operands, options, why);
  if (!p) return std::nullopt;
  if (has_inner_reduction(p->body)) return "in steps, reductions from the inside out: " + p->unit.value.to_string() + "\n";
  if (const auto fold = folded(p->unit, p->plain.operands, p->options))
    return "first " + fold->work.to_string() + " in the pattern of its sparse operand\nthen " + fold->product.to_string() + "\n";
  const auto loops = loops_of(*p, why);
  if (!loops) return std::nullopt;
  return loops->describe();
}

}  // namespace strata::direct
