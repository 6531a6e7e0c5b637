#include "plan/nest/tile.h"

#include <algorithm>

#include "plan/nest/plain.h"

namespace strata::direct {

bool lies_along(const Access& a, int index) {
  if (!a.has(index)) return true;
  const Format& f = a.tensor.format();
  if (!a.dense) {
    const auto& e = f.spec().exprs[static_cast<std::size_t>(f.level(f.num_levels() - 1).expr)];
    return e.op == ExprNode::dim && a.indices[static_cast<std::size_t>(e.a)] == index && !a.tensor.type().shared_value;
  }
  const auto d = static_cast<std::size_t>(std::ranges::find(a.indices, index) - a.indices.begin());
  return f.is_identity() && dimension_strides(strided(a.tensor))[d] == 1;
}

int tile_of(const Unit& u, const std::vector<int>& order) {
  const DType t = u.compute;
  const bool number = t == DType::f32 || t == DType::f64 || is_integer(t) || t == DType::boolean;
  if (!((number && lanes_of(t) > 1) || is_complex(t)) || u.mask >= 0 || u.skew ||
      u.combine == merging::Combine::first || u.output.empty() || (!u.strides.empty() && u.strides.back() != 1))
    return -1;
  const int index = u.output.back();
  const auto at = std::ranges::find(order, index);
  if (at == order.begin() || u.extents[static_cast<std::size_t>(index)] < 2 || at + 1 >= order.end()) return -1;
  // Behind it there are sums, and nothing else; or, in a sum, only places that sparse operands have: rows of the result
  // to which what the tile holds is added.
  const auto is_output = [&](int i) { return u.is_output(i); };
  const bool scatters =
      !u.others && !std::all_of(order.begin(), at, is_output) &&
      std::all_of(at + 1, order.end(), [&](int i) { return is_output(i) && !u.is_of_dense_alone(i); });
  if (!scatters && std::any_of(at + 1, order.end(), is_output)) return -1;
  if (u.is_bounded(index) || std::ranges::any_of(u.accesses, [&](const Access& a) {
        return a.has(index) && (!a.dense || !lies_along(a, index));
      }))
    return -1;
  const auto moves = [&](int k) { return u.accesses[static_cast<std::size_t>(k)].has(index); };
  return is_complex(t) || merging::has_lanes(u, moves) ? index : -1;  // (complex values come one by one)
}

}  // namespace strata::direct
