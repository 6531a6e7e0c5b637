#include "plan/rewrite/direct.h"

#include <algorithm>

#include "expr/chain.h"
#include "expr/contract.h"
#include "plan/nest/loops.h"
#include "plan/program.h"
#include "plan/rewrite/counted.h"
#include "plan/rewrite/fold.h"
#include "plan/rewrite/hoist_reductions.h"
#include "plan/rewrite/in_place.h"
#include "plan/rewrite/parts.h"
#include "plan/rewrite/quotient.h"
#include "plan/rewrite/steps.h"
#include "plan/rewrite/whole.h"
#include "strata/convert.h"

namespace strata::direct {
namespace {

/// The sums at the root, and a cheaper order of contraction of what stands below them.
Contraction contracted(const Expression& value, const Operands& operands,
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
    ContractionFactor f{.expression = e, .rows = 1, .indices = e.free_indices(), .dtype = {}};
    const Expression& inner = e.op() == Operator::conjugate ? e.argument() : e;
    if (inner.op() != Operator::access) return f;
    const Lazy& t = operands.at(inner.node().name);
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

/// Does it take less than half of the multiply-adds?
bool pays(const Contraction& pairs) {
  constexpr double enough = 1 << 16;  // some 20 us: what planning a second product takes
  return pairs.together >= enough && 2 * pairs.apart <= pairs.together;
}

/// Has an expression one sparse operand, or none? Then one nest walks it, whatever stands beside it.
bool walks_one(const Expression& value, const Operands& operands) {
  int sparse = 0;
  for_each_access(value, [&](const Expression& e) {
    if (!operands.at(e.node().name).format().is_all_dense()) ++sparse;
  });
  return sparse <= 1;
}

/// Is it one sum in each slot of a pattern, over dense factors that have all summed indices or none? No order of
/// contraction takes less than one nest over the slots.
bool is_one_sum_in_slots(const NestProblem& p) {
  if (p.options.format->is_all_dense()) return false;
  const auto [sums, factors] = chain_of(p.assignment.value);
  const auto counts = [&](const Expression& f) {
    const auto free = f.free_indices();
    return std::ranges::count_if(sums, [&](const auto& s) { return std::ranges::count(free, s.node().name) > 0; });
  };
  int patterns = p.options.mask ? 1 : 0;
  for (const Expression& f : factors) {
    if (has_reduction(f)) return false;
    const auto names = f.operands();
    const bool dense =
        std::ranges::all_of(names, [&](const auto& n) { return p.operands.at(n).format().is_all_dense(); });
    const auto n = counts(f);
    if (dense ? n != 0 && n != std::ssize(sums)
              : n != 0 || !std::ranges::is_permutation(f.free_indices(), p.assignment.indices))
      return false;
    patterns += !dense;
  }
  return !sums.empty() && patterns == 1;
}

/// An expression made ready: factors in a cheap order, the reductions of the root apart.
struct Prepared {
  NestProblem problem;
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
std::optional<NestProblem> make_sum(const Assignment& a, const Operands& operands, const Asked& options,
                                    std::string& why) {
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
  Asked how = options;
  if (!how.result_dtype) how.result_dtype = own;
  return make_problem(sum, operands, how, why);
}

std::optional<Prepared> prepare(const Assignment& a, const Operands& operands, const Asked& options, std::string& why) {
  auto problem = a.accumulate ? make_sum(a, operands, options, why) : make_problem(a, operands, options, why);
  if (!problem) return std::nullopt;
  Prepared p{.problem = std::move(*problem), .sums = {}, .body = {}};
  Expression& value = p.problem.assignment.value;
  // A user's products need not distribute over sums; a negative factor turns a maximum into a minimum.
  if (options.semiring.kind() != Semiring::user && options.semiring.kind() != Semiring::max_times &&
      !is_one_sum_in_slots(p.problem)) {
    Contraction pairs = contracted(value, p.problem.operands, p.problem.extents);
    if (!walks_one(value, p.problem.operands) || pays(pairs)) value = std::move(pairs.body);
  }
  p.body = peeled(value, p.sums);
  if (options.semiring.kind() == Semiring::any && has_reduction(p.body)) {
    why = "a sum inside may be over nothing, which 'any' has no value for";
    return std::nullopt;
  }
  return p;
}

/// The last of several assignments, over operands that those before it make.
struct Rest {
  Assignment assignment;
  Operands operands;
  std::vector<Lazy> all_rows = {};  ///< what was taken for granted (see Hoisted)
  std::vector<std::pair<Lazy, std::optional<Lazy>>> not_nothing = {};
  std::vector<std::function<std::string()>> steps = {};  ///< what explain() says of those before
};

/// Reductions inside first, or elementwise work before the product that it stands in.
std::optional<Rest> first_steps(const Prepared& p, bool rows_are_full) {
  const NestProblem& problem = p.problem;
  if (has_reduction(p.body)) {
    Hoisted lift =
        hoist_reductions(p.body, problem.assignment.indices, problem.operands, problem.options, rows_are_full);
    Rest rest{problem.assignment, std::move(lift.operands), std::move(lift.all_rows), std::move(lift.not_nothing),
              std::move(lift.steps)};
    rest.assignment.value = lift.value;
    for (auto sum = p.sums.rbegin(); sum != p.sums.rend(); ++sum)
      rest.assignment.value =
          Expression::reduce(problem.assignment.value.op(), sum->first, rest.assignment.value, sum->second);
    return rest;
  }
  if (const auto fold = folded(problem.assignment, problem.operands, problem.options)) {
    Rest rest{fold->product, problem.operands};
    auto [work, text] = planned(fold->work, rest.operands, {.format = fold->format});
    rest.operands.emplace(fold->work.name, std::move(work));
    rest.steps.push_back(std::move(text));
    return rest;
  }
  return std::nullopt;
}

/// The last step.
Explained finish(const Rest& rest, const Asked& options) {
  const auto plain = [a = rest.assignment, operands = rest.operands, options] { return planned(a, operands, options); };
  auto sum = added_in_place(rest.assignment, rest.operands, options, [plain] { return plain().lazy; });
  if (!sum) return plain();
  return {*std::move(sum), [a = rest.assignment] { return a.to_string() + ", in the memory of the step before\n"; }};
}

/// `then` where `holds` is true of these; otherwise what `otherwise` makes.
Lazy guarded(const Lazy& then, std::vector<Lazy> looked_at, std::function<bool(std::span<const Tensor>)> holds,
             std::function<Lazy()> otherwise) {
  Lazy::Step step{
      .inputs = std::move(looked_at),
      .make = [holds = std::move(holds)](Lazy::Inputs& in) { return holds(in) ? std::optional(in[0]) : std::nullopt; },
      .otherwise = std::move(otherwise),
      .then = std::make_shared<const Lazy>(then)};
  return Lazy::made(then.type(), then.stats(), std::move(step), &then);
}

std::string numbered(const std::vector<std::function<std::string()>>& steps) {
  std::string out = "in " + std::to_string(steps.size()) + " steps:\n";
  for (std::size_t k = 0; k < steps.size(); ++k) {
    const std::string number = std::to_string(k + 1) + ". ", text = steps[k]();
    bool first = true;
    for (std::size_t at = 0; at < text.size(); first = false) {
      const std::size_t end = std::min(text.find('\n', at), text.size() - 1) + 1;
      out += (first ? number : std::string(number.size(), ' ')) + text.substr(at, end - at);
      at = end;
    }
  }
  return out;
}

/// Steps before the last one, behind guards for what they take for granted.
std::optional<Explained> in_steps(const Prepared& p, const std::function<Lazy()>& general) {
  auto rest = first_steps(p, true);
  if (!rest) return std::nullopt;
  auto [out, last] = finish(*rest, p.problem.options);
  std::string guards;
  if (!rest->all_rows.empty()) {
    const auto full = [](std::span<const Tensor> rows) {
      return std::ranges::all_of(rows, [](const Tensor& t) { return t.size() == t.nse(); });
    };
    out = guarded(out, rest->all_rows, full, [p] { return finish(*first_steps(p, false), p.problem.options).lazy; });
    guards = "guard: every row of the sparse factor has an element; otherwise rows without one are left out\n";
  }
  if (!rest->not_nothing.empty()) {
    // A number that is 0: of one tensor's elements there are some, or not; of products nobody has counted.
    std::vector<Lazy> looked_at;
    std::vector<char> one;
    for (const auto& [number, operand] : rest->not_nothing) {
      looked_at.push_back(number);
      looked_at.push_back(operand.value_or(number));
      one.push_back(operand.has_value());
    }
    const auto terms = [one](std::span<const Tensor> in) {
      for (std::size_t k = 0; k < one.size(); ++k)
        if (in[2 * k].get({})->is_zero() && (!one[k] || in[2 * k + 1].nse() == 0)) return false;
      return true;
    };
    out = guarded(out, std::move(looked_at), terms, general);
    guards += "guard: no number among the steps is 0; otherwise by the general path\n";
  }
  rest->steps.push_back(std::move(last));
  return Explained{std::move(out), [steps = std::move(rest->steps), guards] { return numbered(steps) + guards; }};
}

/// One nest of loops, or two where a reduction counts what is absent.
std::optional<Explained> by_loops(const NestProblem& problem, const std::function<Lazy()>& general, std::string& why) {
  auto made = make_loops(problem, why);
  if (!made) return std::nullopt;
  const auto loops = std::make_shared<const Loops>(std::move(*made));
  const Format wanted = *problem.options.format;
  const auto dtype = problem.options.result_dtype;
  auto otherwise = general;
  if (loops->order.along >= 0)
    otherwise = [problem, general, wanted, dtype] {
      std::string unused;
      auto plain = make_loops(problem, unused, false);
      return plain
                 ? as_step(std::make_shared<const Loops>(std::move(*plain)), wanted, dtype, general, "generated code: ")
                 : general();
    };
  auto usual = [=] { return as_step(loops, wanted, dtype, otherwise, "generated code: "); };
  auto counting = as_counted(problem, *loops);
  if (!counting) return Explained{usual(), [loops] { return loops->describe(); }};
  const auto counted = std::make_shared<const Counted>(std::move(*counting));
  const DType own = dtype.value_or(loops->unit.dtype);
  Lazy::Step step{.inputs = counted->inputs(),
                  .make = [counted, wanted, own](Lazy::Inputs& in) -> std::optional<Tensor> {
                    const auto result = counted->run(in);
                    if (!result) return std::nullopt;
                    return convert(*result, wanted, {.dtype = own, .zeros = Zeros::keep});
                  },
                  .otherwise = usual,
                  .code =
                      [counted, loops] {
                        return std::pair("generated code: " + loops->assignment.to_string(), counted->describe(true));
                      },
                  .work = counted->values.order.visits * (counted->counts ? 2 : 1)};
  TensorType type = loops->type(wanted, dtype);
  auto stats = planning::stats_for(type, counted->values.order.visits);
  return Explained{Lazy::made(std::move(type), std::move(stats), std::move(step)),
                   [counted] { return counted->describe(false); }};
}

}  // namespace

std::optional<Explained> plan(const Assignment& a, const Operands& operands, const Asked& options,
                              const std::function<Lazy()>& general, std::string& why) {
  const auto p = prepare(a, operands, options, why);
  if (!p) return std::nullopt;
  const NestProblem& problem = p->problem;
  const auto as_written = [general](const Prepared& q, std::string& reason) -> std::optional<Explained> {
    if (auto steps = in_steps(q, general)) return steps;
    if (auto parts = part_by_part(q.problem, general)) return parts;
    if (auto sum = sum_over_parts(q.problem)) return sum;
    return by_loops(q.problem, general, reason);
  };
  const auto otherwise = [p = *p, as_written, general] {
    std::string unused;
    const auto written = as_written(p, unused);
    return written ? written->lazy : general();
  };
  if (const auto whole = reduction_of_values(problem.assignment, problem.operands, problem.options))
    return planned(*whole, problem.options, otherwise);
  if (const auto quotient = quotient_of_sums(problem.assignment, problem.operands, problem.options)) {
    const auto [first, text] = planned(*quotient, problem.operands, problem.options);
    // (The guard looks at what it guards.)
    Lazy::Step step{.inputs = {first},
                    .make = [](Lazy::Inputs& in) -> std::optional<Tensor> {
                      if (holds_infinity(in[0])) return std::nullopt;
                      return std::move(in[0]);
                    },
                    .otherwise = otherwise};
    return Explained{Lazy::made(first.type(), first.stats(), std::move(step)), [told = text] {
                       return "as a quotient of sums (and as it is written where that gives an infinity):\n" + told();
                     }};
  }
  return as_written(*p, why);
}

bool pays_in_pairs(const Assignment& a, const Operands& operands) {
  if (a.accumulate) return false;
  std::map<std::string, Shape> shapes;
  for (const auto& [name, t] : operands) shapes.emplace(name, t.shape());
  return pays(contracted(a.value, operands, index_extents(a, shapes)));
}

/// The one nest that the expression takes.
static Loops emitted(const Assignment& a, const Operands& operands, const Asked& options) {
  for (const auto& [name, t] : operands)
    if (t.num_parts() > 1)
      throw Unsupported({.what = "a sum of parts has a kernel for each",
                         .expected = "operands of one part",
                         .got = name + ", " + t.type().to_string(),
                         .fix = "emit one for each part"});
  std::string why;
  const auto p = prepare(a, operands, options, why);
  const bool steps =
      p && (has_reduction(p->body) || folded(p->problem.assignment, p->problem.operands, p->problem.options));
  auto loops = p && !steps ? make_loops(p->problem, why, true, false) : std::nullopt;
  if (!loops)
    throw Unsupported({.what = "this expression is not one kernel",
                       .expected = "one nest of loops",
                       .got = steps ? "an expression in steps: " + a.to_string() : why,
                       .fix = steps ? "emit each step by itself: strata show --explain tells them"
                                    : "strata show tells how it is computed"});
  return *std::move(loops);
}

std::vector<ir::Function> functions_of(const Assignment& a, const Operands& operands, const Asked& options) {
  std::string why;
  const auto p = prepare(a, operands, options, why);
  const auto loops = p && !has_reduction(p->body) ? make_loops(p->problem, why) : std::nullopt;
  if (!loops) return {};
  auto out = functions_of(loops->unit, loops->order);
  if (loops->wide)
    for (auto& f : functions_of(loops->wide->unit, loops->wide->order)) out.push_back(std::move(f));
  return out;
}

std::string emit(const Assignment& a, const Operands& operands, const Asked& options) {
  return emitted(a, operands, options).emit();
}

std::int64_t least_extent(const Assignment& a, const Operands& operands, const Asked& options) {
  return emitted(a, operands, options).least_extent();
}

std::string emit_main(const Assignment& a, const Operands& operands, const Operands& tiny,
                      std::span<const Tensor> tensors, const Asked& options, const std::string& name,
                      const Tensor& expected) {
  const Loops own = emitted(a, tiny, options);
  std::vector<Tensor> inputs;
  for (const Lazy& t : own.inputs()) inputs.push_back(planning::Program(t).run(tensors));
  return emitted(a, operands, options).emit_main(own, inputs, name, expected);
}

}  // namespace strata::direct
