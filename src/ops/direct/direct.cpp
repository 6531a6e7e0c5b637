#include "ops/direct/direct.h"

#include <algorithm>

#include "expr/contract.h"
#include "ops/direct/counted.h"
#include "ops/direct/fold.h"
#include "ops/direct/in_place.h"
#include "ops/direct/lift.h"
#include "ops/direct/loops.h"
#include "ops/direct/quotient.h"
#include "ops/direct/whole.h"
#include "plan/trace.h"
#include "strata/ops.h"

namespace strata::direct {
namespace {

/// The sums at the root, and a cheaper order of contraction of what stands below them.
Contraction contracted(const Expression& value, const std::map<std::string, Tensor>& operands,
                       const std::map<std::string, std::int64_t>& extents) {
  std::vector<std::string> names;
  bool implicit = true;
  Expression body = value;
  while (body.op() == Operator::sum) {
    names.push_back(body.node().name);
    implicit = implicit && body.node().implicit;
    body = body.argument();
  }
  if (names.empty()) return {value};
  const auto describe = [&](const Expression& e) {
    Factor f{.expression = e, .rows = 1, .indices = e.free_indices(), .dtype = {}};
    const Expression& inner = e.op() == Operator::conjugate ? e.argument() : e;
    if (inner.op() != Operator::access) return f;
    const Tensor& t = operands.at(inner.node().name);
    f.rows = static_cast<double>(t.nse());
    f.dtype = t.dtype();
    return f;
  };
  auto out = contract(body, names, implicit, describe,
                      [&](const std::string& i) { return static_cast<double>(extents.at(i)); });
  // A sum that was carried out inside is gone from the outside.
  const auto free = out.body.free_indices();
  for (auto n = names.rbegin(); n != names.rend(); ++n)
    if (std::find(free.begin(), free.end(), *n) != free.end())
      out.body = Expression::reduce(Operator::sum, *n, out.body, implicit);
  return out;
}

/// An expression made ready: factors in a cheap order, the reductions of the root apart.
struct Prepared {
  Problem problem;
  std::vector<std::pair<std::string, bool>> sums;
  Expression body;  ///< below `sums`
};

/// Are the values of `e`, over operands of one dtype of integers, of that dtype too? (A written sum of narrow ones is
/// wider.)
bool stays_integer(const Expression& e, DType own) {
  switch (e.op()) {
    case Operator::access: return true;
    case Operator::constant: return is_integer(e.node().number);
    case Operator::sum:
      if (!e.node().implicit && own != DType::i64 && own != DType::u64) return false;
      break;
    case Operator::add:
    case Operator::subtract:
    case Operator::multiply:
    case Operator::floor_divide:
    case Operator::modulo:
    case Operator::minimum:
    case Operator::maximum:
    case Operator::negate:
    case Operator::absolute: break;
    default: return false;
  }
  return std::ranges::all_of(e.node().arguments, [&](const Expression& x) { return stays_integer(x, own); });
}

/// `C += E` as `C + E`, where that is the same: what is added keeps its kind in C's dtype.
std::optional<Problem> make_sum(const Assignment& a, const std::map<std::string, Tensor>& operands,
                                const EvaluateOptions& options, std::string& why) {
  const DType own = operands.at(a.name).dtype();
  const auto names = a.value.operands();
  const bool one = std::ranges::all_of(names, [&](const auto& name) { return operands.at(name).dtype() == own; });
  if (!one || !(is_float(own) || (is_integer(own) && stays_integer(a.value, own)))) {
    why = "it adds to what is there, and not values of its dtype";
    return std::nullopt;
  }
  Assignment sum = a;
  sum.name = "#" + a.name;  // no user's name looks so
  sum.accumulate = false;
  sum.value = a.total();
  EvaluateOptions how = options;
  if (!how.result_dtype) how.result_dtype = own;
  return make_problem(sum, operands, how, why);
}

std::optional<Prepared> prepare(const Assignment& a, const std::map<std::string, Tensor>& operands,
                                const EvaluateOptions& options, std::string& why) {
  auto problem = a.accumulate ? make_sum(a, operands, options, why) : make_problem(a, operands, options, why);
  if (!problem) return std::nullopt;
  Prepared p{.problem = std::move(*problem), .sums = {}, .body = {}};
  Expression& value = p.problem.assignment.value;
  // A user's products need not distribute over sums; a negative factor turns a maximum into a minimum.
  if (options.semiring.kind() != Semiring::user && options.semiring.kind() != Semiring::max_times)
    value = contracted(value, p.problem.operands, p.problem.extents).body;
  p.body = peeled(value, p.sums);
  if (options.semiring.kind() == Semiring::any && has_reduction(p.body)) {
    why = "a sum inside may be over nothing, which 'any' has no value for";
    return std::nullopt;
  }
  return p;
}

/// The last of several assignments, and the operands that those before it made.
struct Rest {
  Assignment assignment;
  std::map<std::string, Tensor> operands;
};

/// Reductions inside first, or elementwise work before the product that it stands in. `steps`: explanations of them.
std::optional<Rest> first_steps(const Prepared& p, std::vector<std::string>* steps) {
  const Problem& problem = p.problem;
  if (has_reduction(p.body)) {
    Lifted lift = lifted(p.body, problem.assignment.indices, problem.operands, problem.options, steps);
    Rest rest{problem.assignment, std::move(lift.operands)};
    rest.assignment.value = lift.value;
    for (auto sum = p.sums.rbegin(); sum != p.sums.rend(); ++sum)
      rest.assignment.value =
          Expression::reduce(problem.assignment.value.op(), sum->first, rest.assignment.value, sum->second);
    return rest;
  }
  if (const auto fold = folded(problem.assignment, problem.operands, problem.options)) {
    Rest rest{fold->product, problem.operands};
    const EvaluateOptions how{.format = fold->format};
    if (steps) steps->push_back(strata::explain(fold->work, rest.operands, how));
    rest.operands.emplace(fold->work.name, strata::evaluate(fold->work, rest.operands, how));
    return rest;
  }
  return std::nullopt;
}

/// The same into `rest`; false where a number is a sum of no terms.
bool first_steps(const Prepared& p, std::optional<Rest>& rest, std::string& why,
                 std::vector<std::string>* steps = nullptr) {
  try {
    rest = first_steps(p, steps);
    return true;
  } catch (const SumOfNothing&) {
    why = "a number in it is the sum of no terms, and so absent";
    return false;
  }
}

std::string numbered(const std::vector<std::string>& steps) {
  std::string out = "in " + std::to_string(steps.size()) + " steps (all but the last were carried out to tell):\n";
  for (std::size_t k = 0; k < steps.size(); ++k) {
    bool first = true;
    for (std::size_t at = 0; at < steps[k].size(); first = false) {
      const std::size_t end = std::min(steps[k].find('\n', at), steps[k].size() - 1) + 1;
      const std::string number = std::to_string(k + 1) + ". ";
      out += (first ? number : std::string(number.size(), ' ')) + steps[k].substr(at, end - at);
      at = end;
    }
  }
  return out;
}

}  // namespace

std::optional<Tensor> evaluate(const Assignment& a, const std::map<std::string, Tensor>& operands,
                               const EvaluateOptions& options, std::string& why) {
  const auto p = prepare(a, operands, options, why);
  if (!p) return std::nullopt;
  const Problem& problem = p->problem;
  if (const auto quotient = quotient_of_sums(problem.assignment, problem.operands, problem.options)) {
    Tensor result = strata::evaluate(*quotient, problem.operands, problem.options);
    if (!holds_infinity(result)) return result;
  }
  if (const auto whole = reduction_of_values(problem.assignment, problem.operands, problem.options))
    return strata::evaluate(whole->assignment, whole->operands, problem.options);
  std::optional<Rest> rest;
  if (!first_steps(*p, rest, why)) return std::nullopt;
  if (rest) {
    if (auto sum = added_in_place(rest->assignment, rest->operands, problem.options)) return sum;
    return strata::evaluate(rest->assignment, rest->operands, problem.options);
  }
  const auto loops = make_loops(problem, why);
  if (!loops) return std::nullopt;
  if (const auto counted = as_counted(problem, *loops)) {
    if (planning::Trace::on())
      planning::Trace::add("generated code: " + loops->assignment.to_string(), counted->describe(true));
    if (const auto result = counted->run())
      return convert(*result, *problem.options.format,
                     {.dtype = problem.options.result_dtype.value_or(loops->unit.dtype), .zeros = Zeros::keep});
  }
  if (planning::Trace::on())
    planning::Trace::add("generated code: " + loops->assignment.to_string(), loops->describe(true));
  auto result = loops->run(*problem.options.format, problem.options.result_dtype);
  if (!result) why = "there is no compiler";
  return result;
}

std::optional<std::string> explain(const Assignment& a, const std::map<std::string, Tensor>& operands,
                                   const EvaluateOptions& options, std::string& why) {
  const auto p = prepare(a, operands, options, why);
  if (!p) return std::nullopt;
  const Problem& problem = p->problem;
  if (const auto quotient = quotient_of_sums(problem.assignment, problem.operands, problem.options))
    return "as a quotient of sums (and as it is written where that gives an infinity):\n" +
           strata::explain(*quotient, problem.operands, problem.options);
  if (const auto whole = reduction_of_values(problem.assignment, problem.operands, problem.options))
    return "over the stored values alone:\n" + strata::explain(whole->assignment, whole->operands, problem.options);
  std::vector<std::string> steps;
  std::optional<Rest> rest;
  if (!first_steps(*p, rest, why, &steps)) return std::nullopt;
  if (rest) {
    const bool in_place = added_in_place(rest->assignment, rest->operands, problem.options).has_value();
    steps.push_back(in_place ? rest->assignment.to_string() + ", in the memory of the step before\n"
                             : strata::explain(rest->assignment, rest->operands, problem.options));
    return numbered(steps);
  }
  const auto loops = make_loops(problem, why);
  if (!loops) return std::nullopt;
  if (const auto counted = as_counted(problem, *loops)) return counted->describe(false);
  return loops->describe();
}

bool pays_in_pairs(const Assignment& a, const std::map<std::string, Tensor>& operands) {
  constexpr double enough = 1 << 16;  // some 20 us: what planning a second product takes
  if (a.accumulate) return false;
  std::map<std::string, Shape> shapes;
  for (const auto& [name, t] : operands) shapes.emplace(name, t.shape());
  const auto c = contracted(a.value, operands, index_extents(a, shapes));
  return c.together >= enough && 2 * c.apart <= c.together;
}

std::string emit(const Assignment& a, const std::map<std::string, Tensor>& operands, const EvaluateOptions& options) {
  std::string why;
  const auto p = prepare(a, operands, options, why);
  const bool steps =
      p && (has_reduction(p->body) || folded(p->problem.assignment, p->problem.operands, p->problem.options));
  const auto loops = p && !steps ? make_loops(p->problem, why) : std::nullopt;
  if (!loops)
    throw Unsupported({.what = "this expression is not one kernel",
                       .expected = "one nest of loops",
                       .got = steps ? "an expression in steps: " + a.to_string() : why,
                       .fix = steps ? "emit each step by itself: strata show --explain tells them"
                                    : "strata show tells how it is computed"});
  return loops->emit();
}

}  // namespace strata::direct
