#include "plan/rewrite/quotient.h"

#include <algorithm>
#include <cmath>
#include <span>

#include "expr/chain.h"
#include "plan/rewrite/fold.h"
#include "tensor/tensor_impl.h"

namespace strata::direct {
namespace {

template <class T>
bool any_infinite(const Part& p, std::int64_t count) {
  const std::span values(static_cast<const T*>(p.values.data), static_cast<std::size_t>(count));
  return std::ranges::any_of(values, [](T x) { return std::isinf(x); });
}

}  // namespace

std::optional<Assignment> quotient_of_sums(const Assignment& a, const Operands& operands, const Asked& options) {
  if (a.accumulate || options.semiring != Semiring::plus_times || !options.format || !options.format->is_all_dense())
    return std::nullopt;
  const auto [sums, factors] = chain_of(a.value);
  if (sums.empty() || factors.size() != 1 || factors[0].op() != Operator::divide) return std::nullopt;
  const Expression &above = factors[0].argument(0), &below = factors[0].argument(1);
  if (below.op() != Operator::sum) return std::nullopt;
  const auto is_sparse = [&](const Expression& e) {
    return std::ranges::any_of(chain_of(e).factors,
                               [&](const Expression& f) { return carrier_of(f, operands).has_value(); });
  };
  if (!is_sparse(above) || !is_sparse(below)) return std::nullopt;
  const auto free = below.free_indices(), summed = above.free_indices();
  for (const Expression& s : sums) {
    const std::string& i = s.node().name;
    if (std::ranges::find(free, i) != free.end() || std::ranges::find(summed, i) == summed.end()) return std::nullopt;
  }
  for (const auto& name : factors[0].operands())
    if (const DType t = operands.at(name).dtype(); t != DType::f32 && t != DType::f64) return std::nullopt;
  Assignment out = a;
  Expression sum = above;
  for (auto i = sums.rbegin(); i != sums.rend(); ++i)
    sum = Expression::reduce(Operator::sum, i->node().name, sum);  // written out, for who reads it
  out.value = sum / below;
  return out;
}

bool holds_infinity(const Tensor& t) {
  const Part& p = t.part();
  const std::int64_t count = used_values(p);
  return t.dtype() == DType::f32 ? any_infinite<float>(p, count)
                                 : t.dtype() != DType::f64 || any_infinite<double>(p, count);
}

}  // namespace strata::direct
