#include "ops/direct/fold.h"

#include <algorithm>

#include "ops/direct/unit.h"
#include "ops/evaluate/chain.h"

namespace strata::direct {

std::optional<Folded> folded(const Assignment& a, const std::map<std::string, Tensor>& operands, const EvaluateOptions& options) {
  if (options.semiring != Semiring::plus_times || options.mask || !options.format->is_all_dense()) return std::nullopt;
  const auto [sums, factors] = evaluation::chain_of(a.value);
  const Expression* sparse = nullptr;
  for (const Expression& f : factors) {
    if (f.op() != Operator::access || operands.at(f.node().name).format().is_all_dense()) continue;
    if (!sparse) sparse = &f;
  }
  if (!sparse) return std::nullopt;
  const Tensor& pattern = operands.at(sparse->node().name);
  const auto own = sparse->free_indices();
  if (!pattern.fill().is_zero() || pattern.format().can_hold_fill()) return std::nullopt;
  // All that is sparse has the same elements. Other dtypes would round or wrap differently in another order.
  for (const auto& name : a.value.operands()) {
    const Tensor& t = operands.at(name);
    if (t.dtype() != pattern.dtype()) return std::nullopt;
    if (!t.format().is_all_dense() && !are_twins(pattern, t)) return std::nullopt;
  }
  std::optional<Expression> work, rest;
  std::size_t parts = 0;
  for (const Expression& f : factors) {
    const auto free = f.free_indices();
    const bool inside = std::all_of(free.begin(), free.end(), [&](const auto& i) { return std::find(own.begin(), own.end(), i) != own.end(); });
    const bool access = f.op() == Operator::access;
    if (!inside && !(access && operands.at(f.node().name).format().is_all_dense())) return std::nullopt;
    if (access && inside && !operands.at(f.node().name).format().is_all_dense() && free != own) return std::nullopt;
    auto& group = inside ? work : rest;
    group = group ? *group * f : f;
    parts += inside;
  }
  if (parts < 2 || !rest) return std::nullopt;
  Folded out{.work = {}, .product = a, .format = pattern.format()};
  out.work.name = "#work" + std::to_string(operands.size());  // no user's name looks so
  out.work.indices = own;
  out.work.value = *work;
  const auto access = Expression::access(out.work.name, std::vector<AffineIndex>(own.begin(), own.end()));
  out.product.value = evaluation::under(sums, access * *rest);
  return out;
}

}  // namespace strata::direct
