#include "ops/direct/direct.h"

#include <algorithm>

#include "ops/direct/plain.h"
#include "ops/direct/unit.h"
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
  Lift(const std::map<std::string, Tensor>& operands, const EvaluateOptions& options,
       const std::map<std::string, std::int64_t>& extents)
      : operands_(operands), options_(options), extents_(extents) {}

  Expression apply(const Expression& e) {
    if (is_reduction(e.op())) return evaluated(e);
    if (e.op() == Operator::multiply && options_.semiring == Semiring::plus_times)
      for (const Expression& f : evaluation::factors_of(e))
        if (f.op() == Operator::access && holds_zeros(operands_.at(f.node().name))) {
          // Beside a sparse factor the others matter where that stores something.
          Places inside{operands_.at(f.node().name), f.free_indices()};
          std::swap(places_, inside);
          const Expression out = arguments(e);
          std::swap(places_, inside);
          return out;
        }
    return arguments(e);
  }
  const std::map<std::string, Tensor>& operands() const { return operands_; }
  /// An operand of extent 1 alone does not know how far its index goes.
  bool stretched() const { return stretched_; }

 private:
  /// Where values are asked for: where this tensor stores something.
  struct Places {
    std::optional<Tensor> tensor = {};
    std::vector<std::string> indices = {};
  };
  static bool holds_zeros(const Tensor& t) { return !t.format().is_all_dense() && t.fill().is_zero() && evaluation::stores_all(t.format()); }

  Expression arguments(const Expression& e) {
    Expression::Node n = e.node();
    bool changed = false;
    for (auto& a : n.arguments) {
      Expression b = apply(a);
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
    inner.value = e;
    for (const auto& [name, extent] : index_extents(inner, shapes_of(operands_)))
      stretched_ = stretched_ || extent != extents_.at(name);
    if (stretched_) return e;
    EvaluateOptions options;
    options.semiring = options_.semiring;
    // What is missing stays missing: in a dense tensor it would become a value.
    const auto rank = inner.indices.size();
    if (rank > 1 && everywhere(e) && places_.tensor && std::is_permutation(inner.indices.begin(), inner.indices.end(), places_.indices.begin(), places_.indices.end())) {
      inner.indices = places_.indices;
      options.mask = places_.tensor;
      options.format = places_.tensor->format();
    } else if (rank > 0 && !everywhere(e)) {
      options.format = rank == 1 ? parse_format("(i) -> (i : compressed)") : rows(rank);
    }
    operands_.emplace(inner.name, strata::evaluate(inner, operands_, options));
    return Expression::access(inner.name, std::vector<AffineIndex>(inner.indices.begin(), inner.indices.end()));
  }

  /// The first dimension dense, the others compressed.
  static Format rows(std::size_t rank) {
    std::vector<std::string> names;
    for (std::size_t d = 0; d < rank; ++d) names.push_back("d" + std::to_string(d));
    FormatBuilder b(names);
    for (std::size_t d = 0; d < rank; ++d)
      b.level(b.dim(static_cast<int>(d)), Level{.kind = d == 0 ? LevelKind::dense : LevelKind::compressed});
    return b.build();
  }

  std::map<std::string, Tensor> operands_;
  const EvaluateOptions& options_;
  const std::map<std::string, std::int64_t>& extents_;
  Places places_;
  bool stretched_ = false;
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
  p.unit.value = contracted(p.unit.value, p.plain.operands, p.extents);
  p.body = peeled(p.unit.value, p.sums);
  return p;
}

/// Reductions inside first, then what is left.
std::optional<Tensor> in_steps(const Prepared& p, std::string& why) {
  Lift lift(p.plain.operands, p.options, p.extents);
  Assignment rest = p.plain.assignment;
  rest.value = lift.apply(p.body);
  for (auto sum = p.sums.rbegin(); sum != p.sums.rend(); ++sum)
    rest.value = Expression::reduce(p.unit.value.op(), sum->first, rest.value, sum->second);
  bool stretched = lift.stretched();
  if (!stretched)
    for (const auto& [name, extent] : index_extents(rest, shapes_of(lift.operands())))
      stretched = stretched || extent != p.extents.at(name);
  if (stretched) {
    why = "an extent of 1 is stretched";
    return std::nullopt;
  }
  return strata::evaluate(rest, lift.operands(), p.options);
}

/// The one nest of loops of an expression without inner reductions.
struct Loops {
  Unit unit;
  Order order;
};

std::optional<Loops> loops_of(const Prepared& p, std::string& why) {
  auto unit = make_unit(p.unit, p.plain.operands, p.options, why);
  if (!unit) return std::nullopt;
  auto order = choose_order(*unit, *p.options.format, why);
  if (!order) return std::nullopt;
  return Loops{std::move(*unit), std::move(*order)};
}

}  // namespace

std::optional<Tensor> evaluate(const Assignment& a, const std::map<std::string, Tensor>& operands,
                               const EvaluateOptions& options, std::string& why) {
  const auto p = prepare(a, operands, options, why);
  if (!p) return std::nullopt;
  if (has_inner_reduction(p->body)) return in_steps(*p, why);
  const auto loops = loops_of(*p, why);
  if (!loops) return std::nullopt;
  const Format& wanted = *p->options.format;
  if (planning::Trace::on())
    planning::Trace::add("generated code: " + p->unit.to_string(), describe_unit(loops->unit, loops->order, wanted, true));
  auto result = run_unit(loops->unit, loops->order);
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
  const auto loops = loops_of(*p, why);
  if (!loops) return std::nullopt;
  return describe_unit(loops->unit, loops->order, *p->options.format);
}

}  // namespace strata::direct
