#include "execute/chunks.h"
#include "levels/level_storage.h"

#include <algorithm>

namespace strata::execution {
namespace {

using i64 = std::int64_t;

constexpr i64 chunk_work = 8192;  // multiply-adds that are worth a chunk: some 5 us
constexpr i64 max_chunks = 256;
constexpr i64 slice_work = i64{1} << 22;  // a few milliseconds

const char* rebased(const Buffer& b, i64 elements) {
  return static_cast<const char*>(b.data) + elements * static_cast<i64>(size_of(b.dtype));
}

}  // namespace

Domain::Domain(const Launch& launch, const Part& part, i64 batch, i64 output_extent, i64 free_work)
    : launch_(launch), free_work_(std::max<i64>(1, free_work)) {
  const auto stride = [&](const std::vector<i64>& strides, int l) {
    return strides.empty() ? 0 : batch * strides[static_cast<std::size_t>(l)];
  };
  const int level = launch.level;
  if (launch.kind == Launch::serial) {
    size_ = 1;
  } else if (launch.kind == Launch::output_window) {
    size_ = output_extent;
  } else {
    size_ = iterations(part, level, stride(part.pos_strides, level));
    if (launch.kind == Launch::outer_aligned) {
      const Buffer& crd = part.levels[static_cast<std::size_t>(level)].crd;
      coordinates_ = rebased(crd, stride(part.crd_strides, level));
      coordinates_dtype_ = crd.dtype;
    }
  }
  // Of all-dense parts the values may be a window of a larger buffer: count by ranges.
  stored_ = part.values.size / std::max<i64>(1, part.num_batches);
  if (!part.strides.empty()) {
    stored_ = 1;
    for (const auto& r : part.ranges)
      if (__builtin_mul_overflow(stored_, r.size, &stored_)) stored_ = INT64_MAX / 2;
  }
  if (launch.weight_level >= 0) {
    for (int l = level + 1; l < launch.weight_level; ++l) {
      const Level& between = part.format.level(l);
      if (between.kind != LevelKind::singleton)
        factor_ *= storage::width_of(between, part.ranges[static_cast<std::size_t>(l)]);
    }
    const Buffer& pos = part.levels[static_cast<std::size_t>(launch.weight_level)].pos;
    weights_ = rebased(pos, stride(part.pos_strides, launch.weight_level));
    weights_dtype_ = pos.dtype;
    // Below the weighted level each position may hold a whole block.
    i64 block = 1;
    for (int l = launch.weight_level + 1; l < part.format.num_levels(); ++l)
      if (part.format.level(l).kind == LevelKind::dense)
        block *= std::max<i64>(1, part.ranges[static_cast<std::size_t>(l)].size);
    const i64 weighed = read_index(weights_dtype_, weights_, size_ * factor_);
    stored_ = weighed > INT64_MAX / 4 / block ? INT64_MAX / 4 : weighed * block;
  }
}

i64 Domain::weight(i64 x) const { return x + read_index(weights_dtype_, weights_, x * factor_); }

i64 Domain::work() const {
  const i64 per_element = std::max<i64>(1, free_work_ / 4);
  const i64 elements = std::max(stored_, size_);
  return elements > INT64_MAX / 2 / per_element ? INT64_MAX / 2 : elements * per_element;
}

i64 Domain::slices() const { return std::clamp<i64>(work() / slice_work, 1, std::max<i64>(1, size_)); }

i64 Domain::chunks() const {
  if (size_ <= 1) return 1;
  const i64 work = this->work();
  i64 n = std::clamp<i64>(work / chunk_work, 1, max_chunks);
  if (launch_.kind == Launch::output_window) {
    // Windows that do not clip repeat the walk: only free indices, whose work they share out, pay for that.
    if (!launch_.window_clips)
      n = std::min<i64>(n, free_work_ >= 64 ? 8 : free_work_ >= 16 ? 4 : free_work_ >= 4 ? 2 : 1);
    else if (n > 1 && launch_.preferred > 0)
      n = std::clamp<i64>((size_ + launch_.preferred - 1) / launch_.preferred, 1, 4096);
  } else if (n > 1 && launch_.preferred > 0) {
    n = std::clamp<i64>(size_ / launch_.preferred, n, 4096);
  }
  return std::min(n, (size_ + launch_.granule - 1) / launch_.granule);
}

i64 Domain::cut(i64 c, i64 n) const {
  if (c <= 0 || c >= n) return c <= 0 ? 0 : size_;
  i64 x =
      weights_ ? begin_of_weighed_share(size_, c, n, [this](i64 y) { return weight(y); }) : begin_of_share(size_, c, n);
  x -= x % launch_.granule;
  if (coordinates_ && x > 0) {  // on to where the coordinate changes: it never falls
    const i64 before = read_index(coordinates_dtype_, coordinates_, x - 1);
    x = partition_point(x, size_, [&](i64 y) { return read_index(coordinates_dtype_, coordinates_, y) == before; });
  }
  return x;
}

}  // namespace strata::execution
