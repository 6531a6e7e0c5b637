// nse: in-range slots, without a walk where the positions tell.
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
  for (std::int64_t b = 0; b < batches(part); ++b)
    total = checked_add(total, level_counts(part, level_views(part, b)).back()).value_or(INT64_MAX);
  return total;
}

std::int64_t count_slots(const Part& part, const Shape& shape) {
  if (std::find(shape.begin(), shape.end(), 0) != shape.end()) return 0;
  if (part.format.is_all_dense()) return all_elements(shape);
  const DimensionMap map(part.format, part.ranges, shape);
  if (every_slot_counts(part, map)) return used_values(part);
  return count_in_range(part, shape);
}

}  // namespace strata
