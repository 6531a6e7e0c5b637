// Levels whose coordinates nobody reads need not be walked: the positions below neighbouring parents lie side by side,
// so the levels down to the last one are a single run of positions. Column sums then have no loop over rows, and a sum
// of everything, or a factor for every slot, reads the values as one array, with lanes.
#include <algorithm>

#include "compiler/schedule.h"

namespace strata::compiler {

namespace {

/// Does an operand's or the output's place, or a test, depend on this level's coordinate?
bool is_read(const Graph& g, int level) {
  for (const DimFacts& d : g.dims) {
    if (d.level_scale[static_cast<std::size_t>(level)] == 0) continue;
    if (!d.exact()) return true;
    if (d.index < 0) continue;
    if (std::count_if(g.dims.begin(), g.dims.end(), [&](const DimFacts& o) { return o.index == d.index; }) > 1)
      return true;
    for (const DenseAccess& a : g.dense) {
      const auto ids = g.indices(a.operand);
      if (std::find(ids.begin(), ids.end(), d.index) != ids.end()) return true;
    }
  }
  return false;
}

}  // namespace

void find_flat(const Graph& g, ProductSchedule& s) {
  const int last = g.num_levels() - 1;
  if (g.dense_driver || last < 0 || s.block_begin <= last) return;
  const auto kind = [&](int l) { return g.levels[static_cast<std::size_t>(l)].level.kind; };
  const bool read = is_read(g, last);
  if (kind(last) != LevelKind::compressed && kind(last) != LevelKind::singleton &&
      !(kind(last) == LevelKind::delta && !read))
    return;
  int first = last;
  while (first > 0 && !is_read(g, first - 1) &&
         (kind(first - 1) == LevelKind::dense || kind(first - 1) == LevelKind::compressed ||
          kind(first - 1) == LevelKind::singleton))
    --first;
  while (first <= last && kind(first) == LevelKind::singleton) ++first;  // one slot of its parent: nothing to run over
  if (first > last || (first == last && read)) return;
  s.flat_first = first;
  s.flat_last = last;
  s.flat_is_read = read;
}

void merge_flat(ProductSchedule& s) {
  if (s.flat_last < 0) return;
  const auto above = [&](int l) { return l >= s.flat_first && l < s.flat_last; };
  std::erase_if(s.steps,
                [&](const ScheduleStep& step) { return step.kind == ScheduleStep::walk && above(step.level); });
  for (int* level : {&s.stream_level, &s.unroll_level})
    if (above(*level)) *level = s.flat_last;
}

}  // namespace strata::compiler
