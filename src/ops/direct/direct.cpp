#include "ops/direct/direct.h"

#include <algorithm>

#include "ops/direct/fold.h"
#include "ops/direct/lift.h"
#include "ops/direct/loops.h"
#include "ops/evaluate/contract.h"
#include "plan/trace.h"
#include "strata/ops.h"

namespace strata::direct {
namespace {

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

/// An expression made ready: factors in a cheap order, the reductions of the root apart.
struct Prepared {
  Problem problem;
  std::vector<std::pair<std::string, bool>> sums;
  Expression body;          ///< below `sums`
};

std::optional<Prepared> prepare(const Assignment& a, const std::map<std::string, Tensor>& operands,
                                const EvaluateOptions& options, std::string& why) {
  if (a.accumulate) {
    why = "it adds to what is there";
    return std::nullopt;
  }
  auto problem = make_problem(a, operands, options, why);
  if (!problem) return std::nullopt;
  Prepared p{.problem = std::move(*problem), .sums = {}, .body = {}};
  Expression& value = p.problem.assignment.value;
  // A user's products need not distribute over sums.
  if (options.semiring.kind() != Semiring::user) value = contracted(value, p.problem.operands, p.problem.extents);
  p.body = peeled(value, p.sums);
  return p;
}

/// Reductions inside first, then what is left.
Tensor in_steps(const Prepared& p) {
  const Assignment& a = p.problem.assignment;
  const Lifted lift = lifted(p.body, a.indices, p.problem.operands, p.problem.options);
  Assignment rest = a;
  rest.value = lift.value;
  for (auto sum = p.sums.rbegin(); sum != p.sums.rend(); ++sum)
    rest.value = Expression::reduce(a.value.op(), sum->first, rest.value, sum->second);
  return strata::evaluate(rest, lift.operands, p.problem.options);
}

}  // namespace

std::optional<Tensor> evaluate(const Assignment& a, const std::map<std::string, Tensor>& operands,
                               const EvaluateOptions& options, std::string& why) {
  const auto p = prepare(a, operands, options, why);
  if (!p) return std::nullopt;
  if (has_reduction(p->body)) return in_steps(*p);
  if (const auto fold = folded(p->problem.assignment, p->problem.operands, p->problem.options)) {
    auto tensors = p->problem.operands;
    tensors.emplace(fold->work.name, strata::evaluate(fold->work, tensors, {.format = fold->format}));
    return strata::evaluate(fold->product, tensors, p->problem.options);
  }
  const auto loops = make_loops(p->problem, why);
  if (!loops) return std::nullopt;
  if (planning::Trace::on())
    planning::Trace::add("generated code: " + loops->assignment.to_string(), loops->describe(true));
  auto result = loops->run(*p->problem.options.format, options.dtype);
  if (!result) why = "there is no compiler";
  return result;
}

std::optional<std::string> explain(const Assignment& a, const std::map<std::string, Tensor>& operands,
                                   const EvaluateOptions& options, std::string& why) {
  const auto p = prepare(a, operands, options, why);
  if (!p) return std::nullopt;
  if (has_reduction(p->body)) return "in steps, reductions from the inside out: " + p->problem.assignment.value.to_string() + "\n";
  if (const auto fold = folded(p->problem.assignment, p->problem.operands, p->problem.options))
    return "first " + fold->work.to_string() + " in the pattern of its sparse operand\nthen " + fold->product.to_string() + "\n";
  const auto loops = make_loops(p->problem, why);
  if (!loops) return std::nullopt;
  return loops->describe();
}

}  // namespace strata::direct
