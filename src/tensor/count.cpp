// nse: in-range slots, in closed form where it can be had.
#include <algorithm>

#include "tensor/tensor_impl.h"

namespace strata {
namespace {

/// Does a test by coordinate, or padding, make some slots outside ones?
bool every_slot_counts(const Part& part, const DimensionMap& map) {
  for (const Level& level : part.format.levels())
    if (level.kind == LevelKind::padded) return false;
  return map.tests.empty();
}

/// All-dense: the product of the extents, as every element has exactly one slot.
std::int64_t all_elements(const Shape& shape) {
  const auto n = checked_product(shape);
  if (!n) throw TensorError({.what = "more elements than 64 bits count", .expected = {}, .got = {}});
  return *n;
}

}  // namespace

std::int64_t used_values(const Part& part) {
  std::int64_t total = 0;
  for (std::int64_t b = 0; b < batches(part); ++b) total += level_counts(part, level_views(part, b)).back();
  return total;
}

std::int64_t count_slots(const Part& part, const Shape& shape) {
  if (std::find(shape.begin(), shape.end(), 0) != shape.end()) return 0;
  if (part.format.is_all_dense()) return all_elements(shape);
  const DimensionMap map(part.format, part.ranges, shape);
  if (every_slot_counts(part, map)) return used_values(part);
  // A diagonal clips itself in closed form: walk all levels but the last, then intersect.
  const int last = part.format.num_levels() - 1;
  const LevelKind kind = part.format.level(last).kind;
  const LevelKind above = last > batch_levels(part) ? part.format.level(last - 1).kind : LevelKind::dense;
  if ((kind == LevelKind::range || kind == LevelKind::dense) && last - 1 == batch_levels(part) && above == LevelKind::compressed && part.format.num_batch_levels() == 0) {
    const auto views = level_views(part);
    const LevelRange& r = part.ranges[static_cast<std::size_t>(last)];
    std::vector<std::int64_t> coordinates(static_cast<std::size_t>(last) + 1, 0);
    std::int64_t total = 0;
    const auto& head = views[static_cast<std::size_t>(last - 1)];
    for (std::int64_t p = 0; p < head.pos[1]; ++p) {
      coordinates[static_cast<std::size_t>(last - 1)] = head.crd[p];
      std::int64_t low = r.lo, high = r.lo + r.size;  // coordinates of the last level that stay inside
      bool simple = true;
      for (const auto& test : map.tests) {
        std::int64_t factor = 0;
        for (const auto& t : test.terms)
          if (t.level == last) factor = t.factor;
        coordinates[static_cast<std::size_t>(last)] = 0;
        const std::int64_t base = DimensionMap::sum(test.terms, coordinates.data());
        if (factor == 1) low = std::max(low, -base), high = std::min(high, test.extent - base);
        else if (factor == -1) low = std::max(low, base - test.extent + 1), high = std::min(high, base + 1);
        else if (factor == 0) high = base >= 0 && base < test.extent ? high : low;
        else simple = false;
      }
      if (!simple) {
        total = -1;
        break;
      }
      total += std::max<std::int64_t>(0, high - low);
    }
    if (total >= 0) return total;
  }
  std::int64_t total = 0;
  walk_slots(part, shape, [&](const SlotChunk& chunk) { total += chunk.n; });
  return total;
}

}  // namespace strata
