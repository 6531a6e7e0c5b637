#include "ops/direct/whole.h"

#include <algorithm>

#include "ops/direct/ones.h"
#include "ops/direct/plain.h"
#include "ops/direct/problem.h"
#include "ops/direct/unit.h"
#include "tensor/tensor_impl.h"

namespace strata::direct {
namespace {

using i64 = std::int64_t;

constexpr i64 enough = 4096;  ///< values, some 5 us of a loop over rows: below, one more step costs more than it saves
const std::string slot = "slot", missing = "#missing";
std::string values_of(const std::string& name) { return "#values " + name; }  // no user's name looks so

/// The tree over other accesses.
template <class F> Expression with_accesses(const Expression& e, const F& f) {
  if (e.op() == Operator::access) return f(e);
  if (e.node().arguments.empty()) return e;
  Expression::Node node = e.node();
  for (Expression& a : node.arguments) a = with_accesses(a, f);
  return Expression(std::move(node));
}

}  // namespace

std::optional<Whole> reduction_of_values(const Assignment& a, const std::map<std::string, Tensor>& operands,
                                         const EvaluateOptions& options) {
  if (!a.indices.empty() || a.accumulate || options.mask || options.schedule ||
      options.semiring != Semiring::plus_times)
    return std::nullopt;
  const Operator op = a.value.op();
  if (!is_reduction(op)) return std::nullopt;
  std::vector<std::pair<std::string, bool>> reductions;
  const Expression body = peeled(a.value, reductions);
  const bool implicit = reductions[0].second;
  if (has_reduction(body) || std::ranges::any_of(reductions, [&](const auto& r) { return r.second != implicit; }))
    return std::nullopt;

  std::optional<Expression> first;  // of the accesses to sparse operands
  Whole out{a, {}};
  bool serves = true;
  const auto over_values = with_accesses(body, [&](const Expression& e) {
    const std::string& name = e.node().name;
    const Tensor& t = operands.at(name);
    if (e.node().indices.empty()) {
      out.operands.insert_or_assign(name, t);
      return e;
    }
    if (!first) first = e;
    const Tensor& pattern = operands.at(first->node().name);
    const bool values_alone = !t.format().is_all_dense() && stores_all(t.format()) && !t.type().shared_value;
    if (!values_alone || e.node().indices != first->node().indices ||
        !(name == first->node().name || are_twins(pattern, t))) {
      serves = false;
      return e;
    }
    const Part& p = t.part();
    out.operands.insert_or_assign(values_of(name),
                                  dense_view(p.values, {used_values(p)}, {p.value_stride}, 0, t.fill()));
    return Expression::plain_access(values_of(name), std::vector{slot});
  });
  if (!serves || !first || first->node().indices.size() != reductions.size()) return std::nullopt;
  const Tensor& pattern = operands.at(first->node().name);
  const i64 slots = used_values(pattern.part());
  if (slots < enough || slots != pattern.nse()) return std::nullopt;
  double places = 1;  // beyond 2^53 as good as exact: no memory holds as many values
  for (const i64 n : pattern.shape()) places *= static_cast<double>(n);
  out.assignment.value = Expression::reduce(op, slot, over_values, implicit);
  if (places == static_cast<double>(slots)) return out;

  // What the loops over rows and columns would count for what is missing.
  std::string why;
  const auto unit = make_unit(a, operands, options, why);
  if (!unit) return std::nullopt;
  if (unit->others) {
    out.operands.insert_or_assign(
        missing, dense_view(Buffer::filled(*unit->others, 1), {}, {}, 0, Scalar::zero(unit->others->dtype)));
    const Operator two = op == Operator::reduce_max || op == Operator::any ? Operator::maximum : Operator::minimum;
    out.assignment.value = Expression::binary(two, out.assignment.value, Expression::access(missing));
  }
  return out;
}

}  // namespace strata::direct
