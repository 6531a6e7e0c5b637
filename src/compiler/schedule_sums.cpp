// Factors that stay the same while levels below repeat multiply the sum of those levels, once, instead of every
// element: sum(j, k) T(i,j,k) * B(j,r) * C(k,r) = sum(j) B(j,r) * (sum(k) T(i,j,k) * C(k,r)). This is MTTKRP factored
// along the fiber tree.
//
// It holds for numbers that commute (and and or do); a sum over no elements must not be multiplied, as an absent
// element makes no NaN of an infinite factor: the nest keeps a flag.
#include <algorithm>

#include "compiler/schedule.h"

namespace strata::compiler {

namespace {

/// How many levels must be entered before an access is known; at_leaf where it cannot wait for a sum.
int known_after(const Graph& g, const ProductSchedule& s, const DenseAccess& access) {
  if (!access.late_levels.empty()) return ProductSchedule::at_leaf;
  int known = 0;
  for (int i : g.indices(access.operand)) {
    if (g.dim_of_index[static_cast<std::size_t>(i)] < 0) {
      if (i != s.tile_index && !g.in_output(i)) return ProductSchedule::at_leaf;
      continue;
    }
    for (const DimFacts& d : g.dims)
      if (d.index == i) known = std::max(known, d.completes + 1);
  }
  return known;
}

}  // namespace

void find_sums(const Graph& g, int depth, bool run, ProductSchedule& s) {
  const int n = g.num_levels();
  if (!s.accumulate || s.tile_index < 0 || s.lanes < 2 || s.early_level >= 0 || s.block_begin < n || g.dense_driver ||
      !g.free_sum.empty())
    return;
  const auto loops = [&](int l) {
    return g.levels[static_cast<std::size_t>(l)].level.kind != LevelKind::singleton || (run && l == depth);
  };
  const std::size_t count = g.dense.size() - 1;
  std::vector<int> times(count, ProductSchedule::at_leaf);
  for (std::size_t a = 0; a < count; ++a) {
    int after = std::max(known_after(g, s, g.dense[a]), depth);
    while (after < n && !loops(after)) ++after;
    if (after < n) times[a] = after;
  }
  if (std::all_of(times.begin(), times.end(), [](int t) { return t == ProductSchedule::at_leaf; })) return;
  s.times = times;
  std::sort(times.begin(), times.end());
  times.erase(std::unique(times.begin(), times.end()), times.end());
  for (int t : times)
    if (t != ProductSchedule::at_leaf) s.sums.push_back(t);
  // The accumulators of the output serve the outermost sum themselves, if they have the lanes that its elements have.
  if (s.sums.front() != depth) return;
  for (std::size_t a = 0; a < count; ++a)
    if (s.times[a] > depth && stride_along_index(g.dense[a], s.tile_index) != StrideKind::broadcast) {
      s.open_times = depth;
      s.sums.erase(s.sums.begin());
      return;
    }
}

}  // namespace strata::compiler
