#include "plan/rewrite/fold.h"

#include <algorithm>

#include "base/small_float.h"
#include "expr/chain.h"
#include "plan/nest/problem.h"
#include "plan/nest/unit.h"
#include "plan/rewrite/ones.h"
#include "reference/tree.h"

namespace strata::direct {
namespace {

/// The access in an elementwise tree, if all of its accesses are the same.
bool find_access(const Expression& e, std::optional<Expression>& found) {
  if (e.op() == Operator::access) {
    if (found && !(*found == e)) return false;
    found = e;
    return true;
  }
  if (is_reduction(e.op())) return false;
  return std::ranges::all_of(e.node().arguments, [&](const Expression& a) { return find_access(a, found); });
}

/// What is known of a tree without reductions before any element is looked at.
int add_facts(evaluation::Tree& tree, const Expression& e, const Operands& operands) {
  if (e.op() == Operator::constant) return tree.add_constant(e);
  if (e.op() == Operator::access) {
    const Lazy& t = operands.at(e.node().name);
    evaluation::Leaf leaf;
    leaf.dense = t.format().is_all_dense();
    leaf.values = std::make_shared<evaluation::Column>(evaluation::zeros(t.dtype(), 0));
    leaf.fill = evaluation::of_scalar(t.fill());
    return tree.add_leaf(std::move(leaf), {});
  }
  std::vector<int> arguments;
  for (const auto& a : e.node().arguments) arguments.push_back(add_facts(tree, a, operands));
  return is_unary(e.op()) ? tree.add_unary(e.op(), arguments[0]) : tree.add_operation(e.op(), std::move(arguments));
}

/// Is a function in it that vectors compute many times as fast? A sum that adds one element after the other has none.
bool takes_long(const Expression& e) {
  switch (e.op()) {
    case Operator::exponential:
    case Operator::logarithm:
    case Operator::hyperbolic_tangent: return true;
    default: return std::ranges::any_of(e.node().arguments, takes_long);
  }
}

}  // namespace

std::optional<Expression> carrier_of(const Expression& factor, const Operands& operands) {
  std::optional<Expression> access;
  if (!find_access(factor, access) || !access) return std::nullopt;
  const Lazy& t = operands.at(access->node().name);
  if (t.format().is_all_dense() || !t.fill().is_zero() || !stores_each_once(t.format())) return std::nullopt;
  return factor.op() == Operator::access || hides(factor, operands) ? access : std::nullopt;
}

bool hides(const Expression& factor, const Operands& operands) {
  if (has_reduction(factor)) return false;
  evaluation::Tree facts({}, Semiring::plus_times);
  return facts.node(add_facts(facts, factor, operands)).annihilates();
}

std::optional<Work> work_of(const std::vector<Expression>& factors, const Operands& operands) {
  const auto is_dense = [&](const Expression& access) {
    return operands.at(access.node().name).format().is_all_dense();
  };
  std::optional<Expression> sparse;
  for (const Expression& f : factors)
    if (!sparse) sparse = carrier_of(f, operands);
  if (!sparse) return std::nullopt;
  const Lazy& pattern = operands.at(sparse->node().name);
  const auto own = sparse->free_indices();
  std::optional<Expression> work, rest;
  std::size_t parts = 0;
  for (const Expression& f : factors) {
    // All that is sparse has the same elements. Other dtypes would round or wrap differently in another order.
    for (const auto& name : f.operands()) {
      const Lazy& t = operands.at(name);
      if (t.dtype() != pattern.dtype()) return std::nullopt;
      if (!t.format().is_all_dense() && !t.is_twin_of(pattern)) return std::nullopt;
    }
    const auto free = f.free_indices();
    const bool inside = std::all_of(free.begin(), free.end(),
                                    [&](const auto& i) { return std::find(own.begin(), own.end(), i) != own.end(); });
    const bool access = f.op() == Operator::access;
    if (!inside && !(access && is_dense(f))) return std::nullopt;
    if (access && inside && !is_dense(f) && free != own) return std::nullopt;
    auto& group = inside ? work : rest;
    group = group ? *group * f : f;
    parts += inside;
  }
  if (parts < 2) return std::nullopt;
  return Work{*work, own, pattern.format(), rest};
}

Assignment Work::as_operand(const Operands& operands) const {
  Assignment out;
  out.name = "#work" + std::to_string(operands.size());
  out.indices = indices;
  out.value = value;
  return out;
}

std::optional<Folded> folded(const Assignment& a, const Operands& operands, const Asked& options) {
  if (options.semiring != Semiring::plus_times || options.mask || !options.format->is_all_dense()) return std::nullopt;
  const auto [sums, factors] = chain_of(a.value);
  const auto work = work_of(factors, operands);
  if (!work || (!work->rest && !takes_long(work->value))) return std::nullopt;
  // Products of narrow floats are rounded once.
  const DType own = operands.at(a.value.operands().front()).dtype();
  if (is_small_float(own) && !takes_long(work->value)) return std::nullopt;
  Folded out{.work = work->as_operand(operands), .product = a, .format = work->format};
  out.product.value = under(sums, work->rest ? out.work.target() * *work->rest : out.work.target());
  return out;
}

}  // namespace strata::direct
