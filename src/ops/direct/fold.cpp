#include "ops/direct/fold.h"

#include <algorithm>

#include "ops/direct/unit.h"
#include "ops/evaluate/chain.h"

namespace strata::direct {

std::optional<Work> work_of(const std::vector<Expression>& factors, const std::map<std::string, Tensor>& operands) {
  const auto is_dense = [&](const Expression& access) { return operands.at(access.node().name).format().is_all_dense(); };
  const auto sparse = std::find_if(factors.begin(), factors.end(), [&](const Expression& f) { return f.op() == Operator::access && !is_dense(f); });
  if (sparse == factors.end()) return std::nullopt;
  const Tensor& pattern = operands.at(sparse->node().name);
  const auto own = sparse->free_indices();
  if (!pattern.fill().is_zero() || pattern.format().can_hold_fill()) return std::nullopt;
  std::optional<Expression> work, rest;
  std::size_t parts = 0;
  for (const Expression& f : factors) {
    // All that is sparse has the same elements. Other dtypes would round or wrap differently in another order.
    for (const auto& name : f.operands()) {
      const Tensor& t = operands.at(name);
      if (t.dtype() != pattern.dtype()) return std::nullopt;
      if (!t.format().is_all_dense() && !are_twins(pattern, t)) return std::nullopt;
    }
    const auto free = f.free_indices();
    const bool inside = std::all_of(free.begin(), free.end(), [&](const auto& i) { return std::find(own.begin(), own.end(), i) != own.end(); });
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

Assignment Work::as_operand(const std::map<std::string, Tensor>& operands) const {
  Assignment out;
  out.name = "#work" + std::to_string(operands.size());
  out.indices = indices;
  out.value = value;
  return out;
}

std::optional<Folded> folded(const Assignment& a, const std::map<std::string, Tensor>& operands, const EvaluateOptions& options) {
  if (options.semiring != Semiring::plus_times || options.mask || !options.format->is_all_dense()) return std::nullopt;
  const auto [sums, factors] = evaluation::chain_of(a.value);
  const auto work = work_of(factors, operands);
  if (!work || !work->rest) return std::nullopt;
  Folded out{.work = work->as_operand(operands), .product = a, .format = work->format};
  out.product.value = evaluation::under(sums, out.work.target() * *work->rest);
  return out;
}

}  // namespace strata::direct
