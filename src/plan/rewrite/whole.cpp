#include "plan/rewrite/whole.h"

#include <algorithm>

#include "plan/nest/plain.h"
#include "plan/nest/problem.h"
#include "plan/nest/unit.h"
#include "plan/rewrite/ones.h"
#include "tensor/tensor_impl.h"

namespace strata::direct {
namespace {

using i64 = std::int64_t;

constexpr double enough =
    4096;  ///< values, some 5 us of a loop over rows: below, one more step costs more than it saves
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

/// A vector of them.
Lazy stored_values(const Lazy& t) {
  TensorType type = view_type({static_cast<i64>(t.stats().slots)}, t.dtype(), {}, t.fill());
  Lazy::Step step{.inputs = {t},
                  .make =
                      [](Lazy::Inputs& in) {
                        const Part& p = in[0].part();
                        return dense_view(p.values, {used_values(p)}, {p.value_stride}, 0, in[0].fill());
                      },
                  .guessed = true};
  return Lazy::made(type, planning::stats_for(type, t.stats().slots), std::move(step));
}

}  // namespace

std::optional<Whole> reduction_of_values(const Assignment& a, const Operands& operands, const Asked& options) {
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
  Whole out{.assignment = a, .operands = {}, .sparse = {}};
  bool serves = true;
  const auto over_values = with_accesses(body, [&](const Expression& e) {
    const std::string& name = e.node().name;
    const Lazy& t = operands.at(name);
    if (e.node().indices.empty()) {
      out.operands.insert_or_assign(name, t);
      return e;
    }
    if (!first) first = e;
    const Lazy& pattern = operands.at(first->node().name);
    // (Values of batches do not lie side by side.)
    const bool values_alone = !t.format().is_all_dense() && stores_all(t.format()) && !t.type().shared_value &&
                              t.format().num_batch_levels() == 0;
    if (!values_alone || e.node().indices != first->node().indices ||
        !(name == first->node().name || t.is_twin_of(pattern))) {
      serves = false;
      return e;
    }
    out.operands.insert_or_assign(values_of(name), stored_values(t));
    out.sparse.push_back(t);
    return Expression::plain_access(values_of(name), std::vector{slot});
  });
  if (!serves || !first || first->node().indices.size() != reductions.size()) return std::nullopt;
  const Lazy& pattern = operands.at(first->node().name);
  if (pattern.stats().slots < enough || !pattern.stats().each_slot) return std::nullopt;
  out.assignment.value = Expression::reduce(op, slot, over_values, implicit);
  out.full = pattern.stats().full;
  if (out.full) return out;

  // What the loops over rows and columns would count for what is missing.
  std::string why;
  const auto unit = make_unit(a, operands, options, why);
  if (!unit) return std::nullopt;
  if (unit->others) {
    const auto make = [others = *unit->others](Lazy::Inputs&) {
      return dense_view(Buffer::filled(others, 1), {}, {}, 0, Scalar::zero(others.dtype));
    };
    const TensorType number = view_type({}, unit->others->dtype, {}, Scalar::zero(unit->others->dtype));
    out.operands.insert_or_assign(missing, Lazy::made(number, planning::stats_for(number, 1), {.make = make}));
    const Operator two = op == Operator::reduce_max || op == Operator::any ? Operator::maximum : Operator::minimum;
    out.assignment.value = Expression::binary(two, out.assignment.value, Expression::access(missing));
  }
  return out;
}

Explained planned(const Whole& whole, const Asked& options, std::function<Lazy()> otherwise) {
  const auto [likely, text] = planned(whole.assignment, whole.operands, options);
  Lazy::Step step;
  std::vector<std::string> names;
  for (const auto& [name, t] : whole.operands) {
    names.push_back(name);
    step.inputs.push_back(t);
  }
  step.inputs.insert(step.inputs.end(), whole.sparse.begin(), whole.sparse.end());
  step.otherwise = std::move(otherwise);
  step.make = [a = whole.assignment, names, full = whole.full,
               asked = planning::options_of(options, {})](Lazy::Inputs& in) -> std::optional<Tensor> {
    const Tensor& t = in[names.size()];
    const bool is_full = static_cast<double>(t.nse()) == planning::places_of(t.shape());
    if (used_values(t.part()) != t.nse() || is_full != full) return std::nullopt;
    for (std::size_t k = names.size() + 1; k < in.size(); ++k)
      if (!planning::have_one_pattern(t, in[k])) return std::nullopt;
    std::map<std::string, Tensor> operands;
    for (std::size_t k = 0; k < names.size(); ++k) operands.emplace(names[k], in[k]);
    return strata::evaluate(a, operands, asked);
  };
  if (likely.position() < 0) step.code = likely.step().code;
  return {Lazy::made(likely.type(), likely.stats(), std::move(step)), [told = text, full = whole.full] {
            return "over the stored values alone:\n" + told() +
                   (full ? "guard: no element is absent" : "guard: some elements are absent") +
                   "; otherwise by loops over rows and coordinates\n";
          }};
}

}  // namespace strata::direct
