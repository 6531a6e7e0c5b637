#pragma once
// Where the domain of a lowered kernel is cut. Cuts depend on the problem, never on the number of threads.
#include <cstdint>

#include "base/share.h"
#include "compiler/lower.h"
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

/// The domain of one batch of one part, and how to cut it.
class Domain {
 public:
  /// `output_extent`: of the launch's output dimension; `free_work`: product of the extents that only dense operands
  /// have.
  Domain(const Launch& launch, const Part& part, std::int64_t batch, std::int64_t output_extent,
         std::int64_t free_work);

  std::int64_t size() const { return size_; }
  /// Stored elements, as far as the arrays tell without a walk.
  std::int64_t stored() const { return stored_; }
  /// How many chunks pay.
  std::int64_t chunks() const;
  /// How many calls, one after the other, keep each short enough to stop in between.
  std::int64_t slices() const;
  /// Start of chunk c of n; cut(n, n) is the size. cut(c * k, n * k) is cut(c, n).
  std::int64_t cut(std::int64_t c, std::int64_t n) const;

 private:
  std::int64_t weight(std::int64_t x) const;
  std::int64_t work() const;  ///< multiply-adds, about

  const Launch& launch_;
  std::int64_t size_ = 0, stored_ = 0, free_work_ = 1, factor_ = 1;
  const void *weights_ = nullptr, *coordinates_ = nullptr;
  DType weights_dtype_ = DType::i32, coordinates_dtype_ = DType::i32;
};

}  // namespace strata::execution
