#include "plan/nest/aligned.h"

#include <algorithm>

#include "format/recognise.h"
#include "plan/stats.h"

namespace strata::direct {
namespace {

/// The sparse access, and its deepest level, that has an index of this dense one, but for that of its rows. Not one in
/// front of a tile that is added to rows of the result: there a row is read once.
std::optional<std::pair<std::size_t, std::size_t>> chooser_of(const Unit& u, const Order& o, const Access& dense) {
  const int row = dense.indices.back();
  const auto chooses = [&](int index) {
    return index != row && dense.has(index) &&
           (!o.adds_tile(u) || std::ranges::find(o.indices, index) > std::ranges::find(o.indices, o.tile));
  };
  for (std::size_t k = 0; k < u.accesses.size(); ++k) {
    const Access& a = u.accesses[k];
    const Format& f = a.tensor.format();
    for (int l = a.dense || f.num_parts() > 1 ? 0 : f.num_levels(); l-- > 0;) {
      const int d = plain_dim(f, l), index = d < 0 ? row : a.indices[static_cast<std::size_t>(d)];
      if (chooses(index)) return std::pair(k, static_cast<std::size_t>(l));
    }
  }
  return std::nullopt;
}

}  // namespace

std::vector<AlignedRows> aligned_rows(const Unit& u, const Order& o) {
  // Rows lie along the tile, or along the sum in each slot of a pattern; the loops around choose them.
  const std::size_t n = o.indices.size();
  const bool sums_in_slots = o.pattern >= 0 && u.output.size() + 1 == n;
  if (n < 2 || (o.tile < 0 && !sums_in_slots)) return {};
  const int row = o.tile >= 0 ? o.tile : o.indices[n - 1];
  std::vector<AlignedRows> out;
  for (std::size_t k = 0; k < u.accesses.size(); ++k) {
    const Access& a = u.accesses[k];
    if (!a.dense || a.indices.empty() || a.indices.back() != row) continue;
    const auto chooser = chooser_of(u, o, a);
    if (!chooser) continue;
    const auto [driver, level] = *chooser;
    const Access& d = u.accesses[driver];
    if (const auto copy = planning::aligned_copy_of(a.tensor.type(), a.indices, d.tensor.type(), d.indices))
      out.push_back({k, driver, level, *copy});
  }
  return out;
}

std::vector<Tensor> with_aligned_rows(const Order& o, std::span<const Tensor> operands) {
  std::vector<Tensor> out(operands.begin(), operands.end());
  for (const auto& [k, driver, level, copy] : o.aligned) {
    const Tensor &t = operands[k], &d = operands[driver];
    if (!t.type().strides.empty()) continue;
    if (!copy.pays(t, d, static_cast<std::int64_t>(std::min(planning::counted(d)->positions[level], 9e18)))) continue;
    const auto same = std::ranges::find_if(operands.first(k), [&](const Tensor& x) { return x.same_object(t); });
    out[k] = same != operands.begin() + static_cast<std::ptrdiff_t>(k)
                 ? out[static_cast<std::size_t>(same - operands.begin())]
                 : planning::aligned_copy(t);
  }
  return out;
}

}  // namespace strata::direct
