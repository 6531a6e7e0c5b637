#include "ops/direct/direct.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "ops/convert_elements.h"
#include "ops/direct/loops.h"
#include "ops/direct/plain.h"
#include "ops/evaluate/contract.h"
#include "ops/evaluate/pattern.h"
#include "plan/trace.h"
#include "strata/ops.h"

namespace strata::direct {
namespace {

std::map<std::string, Shape> shapes_of(const std::map<std::string, Tensor>& operands) {
  std::map<std::string, Shape> out;
  for (const auto& [name, t] : operands) out.emplace(name, t.shape());
  return out;
}

/// Takes reductions out of an elementwise tree: each becomes an operand of its own.
class Lift {
 public:
  /// `output`: the indices of the whole result.
  Lift(const std::map<std::string, Tensor>& operands, const EvaluateOptions& options, const std::vector<std::string>& output)
      : operands_(operands), options_(options), output_(output) {
    zeros_are_values_ = options.format->is_all_dense() && options.semiring == Semiring::plus_times;
  }

  Expression apply(const Expression& e) {
    if (is_reduction(e.op())) return evaluated(e);
    const bool before = zeros_are_values_;
    zeros_are_values_ = before && asks_for_values(e);
    const Expression out = below(e);
    zeros_are_values_ = before;
    return out;
  }
  /// What several reductions hold is carried out once, before them.
  Expression shared(const Expression& e) {
    const bool before = std::exchange(zeros_are_values_, false);
    static_cast<void>(inner(e, 0, true));
    const Expression out = inner(e, 0, false);
    zeros_are_values_ = before;
    return out;
  }
  const std::map<std::string, Tensor>& operands() const { return operands_; }

 private:
  /// Is this the same where an argument is absent and where it is 0? In a dense result; an absent factor, or numerator of a
  /// dense denominator, hides infinities and zeros beside it.
  static bool asks_for_values(const Expression& e) {
    if (e.op() == Operator::divide) return e.argument(0).op() == Operator::sum && e.argument(1).op() == Operator::sum;
    return e.op() != Operator::multiply && e.op() != Operator::floor_divide && e.op() != Operator::modulo;
  }

  Expression below(const Expression& e) {
    return within(e, [&] { return arguments(e, [&](const Expression& a) { return apply(a); }); });
  }

  /// Calls f with the places that e's arguments are asked for.
  template <class F>
  Expression within(const Expression& e, const F& f) {
    if (e.op() == Operator::multiply && options_.semiring == Semiring::plus_times)
      for (const Expression& x : evaluation::factors_of(e))
        if (x.op() == Operator::access && holds_zeros(operands_.at(x.node().name))) {
          // Beside a sparse factor the others matter where that stores something.
          Places inside{operands_.at(x.node().name), x.free_indices()};
          std::swap(places_, inside);
          const Expression out = f();
          std::swap(places_, inside);
          return out;
        }
    return f();
  }

  /// Notes the reductions inside of reductions, or carries out those that were noted twice.
  Expression inner(const Expression& e, int depth, bool notes) {
    if (is_reduction(e.op()) && depth > 0) {
      const auto same = [&](const auto& x) { return x.first == e && x.second == places_; };
      if (notes) noted_.emplace_back(e, places_);
      else if (std::count_if(noted_.begin(), noted_.end(), same) > 1) return evaluated(e);
    }
    const int below = depth + (is_reduction(e.op()) ? 1 : 0);
    return within(e, [&] { return arguments(e, [&](const Expression& a) { return inner(a, below, notes); }); });
  }

  /// Where values are asked for: where this tensor stores something.
  struct Places {
    std::optional<Tensor> tensor = {};
    std::vector<std::string> indices = {};
    bool operator==(const Places& o) const {
      return indices == o.indices && tensor.has_value() == o.tensor.has_value() && (!tensor || tensor->same_object(*o.tensor));
    }
  };
  /// A reduction that occurs twice is carried out once.
  struct Done {
    Expression reduction;
    Places places;
    bool dense;
    Expression access;
  };
  static bool holds_zeros(const Tensor& t) { return t.fill().is_zero() && evaluation::stores_all(t.format()); }

  template <class F>
  static Expression arguments(const Expression& e, const F& f) {
    Expression::Node n = e.node();
    bool changed = false;
    for (auto& a : n.arguments) {
      Expression b = f(a);
      changed = changed || !(b == a);
      a = std::move(b);
    }
    return changed ? Expression(std::move(n)) : e;
  }

  /// Has it a value everywhere, because dense operands give it one?
  bool everywhere(const Expression& e) const {
    if (e.op() == Operator::access) return operands_.at(e.node().name).format().is_all_dense();
    bool all = true, some = false;
    for (const auto& a : e.node().arguments) {
      if (a.op() == Operator::constant) continue;
      const bool here = everywhere(a);
      all = all && here;
      some = some || here;
    }
    return e.op() == Operator::multiply ? all : some;
  }

  Expression evaluated(const Expression& e) {
    Assignment inner;
    inner.name = "#" + std::to_string(operands_.size());  // no user's name looks so
    inner.indices = e.free_indices();
    const bool dense = zeros_are_values_ && e.op() == Operator::sum && std::all_of(inner.indices.begin(), inner.indices.end(), [&](const auto& i) {
                         return std::find(output_.begin(), output_.end(), i) != output_.end();
                       });
    for (const Done& d : done_)
      if (d.reduction == e && d.places == places_ && d.dense == dense) return d.access;
    inner.value = e;
    EvaluateOptions options;
    options.semiring = options_.semiring;
    // What is missing stays missing: in a dense tensor it would become a value.
    const auto rank = inner.indices.size();
    if (rank > 1 && everywhere(e) && places_.tensor && std::is_permutation(inner.indices.begin(), inner.indices.end(), places_.indices.begin(), places_.indices.end())) {
      inner.indices = places_.indices;
      options.mask = places_.tensor;
      options.format = places_.tensor->format();
    } else if (dense) {
      options.format = conversion::dense_format(static_cast<int>(rank));
    } else if (rank > 0 && !everywhere(e)) {
      std::vector<int> dims(rank);
      std::iota(dims.begin(), dims.end(), 0);
      options.format = conversion::levels_in_order(dims, rank > 1);
    }
    operands_.emplace(inner.name, strata::evaluate(inner, operands_, options));
    const Expression access = Expression::access(inner.name, std::vector<AffineIndex>(inner.indices.begin(), inner.indices.end()));
    done_.push_back({e, places_, dense, access});
    return access;
  }

  std::map<std::string, Tensor> operands_;
  const EvaluateOptions& options_;
  const std::vector<std::string>& output_;
  bool zeros_are_values_ = false;
  Places places_;
  std::vector<Done> done_;
  std::vector<std::pair<Expression, Places>> noted_;
};

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
  Lift lift(p.plain.operands, p.options, p.plain.assignment.indices);
  Assignment rest = p.plain.assignment;
  rest.value = lift.apply(lift.shared(p.body));
  for (auto sum = p.sums.rbegin(); sum != p.sums.rend(); ++sum)
    rest.value = Expression::reduce(p.unit.value.op(), sum->first, rest.value, sum->second);
  return strata::evaluate(rest, lift.operands(), p.options);
}

/// Elementwise work on the elements of one sparse tensor, times dense operands: A(i,j) * exp(E(i,j)) * V(j,d). The work is
/// done once an element, into A's pattern, and what is left is a product that a plan serves.
struct Folded {
  Assignment work, product;
  Format format;  ///< of the work: A's
};

std::optional<Folded> folded(const Prepared& p) {
  if (p.options.semiring != Semiring::plus_times || p.options.mask || !p.options.format->is_all_dense()) return std::nullopt;
  if (!p.sums.empty() && p.unit.value.op() != Operator::sum) return std::nullopt;
  const auto factors = evaluation::factors_of(p.body);
  const Expression* sparse = nullptr;
  for (const Expression& f : factors) {
    if (f.op() != Operator::access || p.plain.operands.at(f.node().name).format().is_all_dense()) continue;
    if (!sparse) sparse = &f;
  }
  if (!sparse) return std::nullopt;
  const Tensor& pattern = p.plain.operands.at(sparse->node().name);
  const auto own = sparse->free_indices();
  if (!pattern.fill().is_zero() || pattern.format().can_hold_fill()) return std::nullopt;
  // All that is sparse has the same elements. Other dtypes would round or wrap differently in another order.
  for (const auto& name : p.body.operands()) {
    const Tensor& t = p.plain.operands.at(name);
    if (t.dtype() != pattern.dtype()) return std::nullopt;
    if (!t.format().is_all_dense() && !are_twins(pattern, t)) return std::nullopt;
  }
  std::optional<Expression> work, rest;
  std::size_t parts = 0;
  for (const Expression& f : factors) {
    const auto free = f.free_indices();
    const bool inside = std::all_of(free.begin(), free.end(), [&](const auto& i) { return std::find(own.begin(), own.end(), i) != own.end(); });
    const bool access = f.op() == Operator::access;
    if (!inside && !(access && p.plain.operands.at(f.node().name).format().is_all_dense())) return std::nullopt;
    if (access && inside && !p.plain.operands.at(f.node().name).format().is_all_dense() && free != own) return std::nullopt;
    auto& group = inside ? work : rest;
    group = group ? *group * f : f;
    parts += inside;
  }
  if (parts < 2 || !rest) return std::nullopt;
  Folded out{.work = {}, .product = p.unit, .format = pattern.format()};
  out.work.name = "#" + std::to_string(p.plain.operands.size());  // no user's name looks so
  out.work.indices = own;
  out.work.value = *work;
  out.product.value = Expression::access(out.work.name, std::vector<AffineIndex>(own.begin(), own.end())) * *rest;
  for (auto sum = p.sums.rbegin(); sum != p.sums.rend(); ++sum)
    out.product.value = Expression::reduce(Operator::sum, sum->first, out.product.value, sum->second);
  return out;
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
  if (const auto fold = folded(*p)) {
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
  if (const auto fold = folded(*p))
    return "first " + fold->work.to_string() + " in the pattern of its sparse operand\nthen " + fold->product.to_string() + "\n";
  const auto loops = loops_of(*p, why);
  if (!loops) return std::nullopt;
  return loops->describe();
}

}  // namespace strata::direct
