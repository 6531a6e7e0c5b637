#pragma once
// Where the loops of a kernel are cut. Cuts depend on the problem, never on the number of threads.
#include <cstdint>

#include "base/share.h"
#include "levels/index_view.h"
#include "strata/tensor.h"

namespace strata::execution {

/// Index array entry `i`, for any index dtype.
inline std::int64_t read_index(DType t, const void* p, std::int64_t i) {
  return with_index_type(t, [&]<class T>(T) { return static_cast<std::int64_t>(static_cast<const T*>(p)[i]); });
}

/// Of a level without parents: coordinates of a dense one, positions of a compressed one, whose pos of this batch
/// begins at an entry.
inline std::int64_t iterations(const Part& part, int level, std::int64_t first = 0) {
  const auto l = static_cast<std::size_t>(level);
  return part.format.level(level).kind == LevelKind::compressed
             ? read_index(part.levels[l].pos.dtype, part.levels[l].pos.data, first + 1)
             : part.ranges[l].size;
}

/// Where share `c` of `n` of [0, size) begins, where what lies before x weighs weight(x), which never falls.
template <class F> std::int64_t begin_of_weighed_share(std::int64_t size, std::int64_t c, std::int64_t n,
                                                       const F& weight) {
  if (c <= 0 || c >= n) return c <= 0 ? 0 : size;
  const std::int64_t before = begin_of_share(weight(size), c, n);
  return partition_point(0, size, [&](std::int64_t x) { return weight(x) < before; });
}

}  // namespace strata::execution
