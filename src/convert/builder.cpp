// Triplets gathered by threads. Elements lie in blocks that never move; a run says whose they are and where.
#include <algorithm>
#include <mutex>
#include <numeric>
#include <vector>

#include "backend/steps.h"
#include "convert/coordinate_lists.h"
#include "strata/build.h"

namespace strata {

using namespace conversion;

namespace {

/// From this many elements on a list gets a block of its own, which is filled outside of the lock.
constexpr std::int64_t large = 4096;

struct Block {
  std::vector<Buffer> lists;  ///< a list of coordinates a dimension, and the values
  std::int64_t size = 0, capacity = 0;
};

/// Elements [begin, begin + size) of a block, which came in one call or in several of the same order.
struct BlockRun {
  std::int64_t order = 0;
  std::shared_ptr<Block> block;
  std::int64_t begin = 0, size = 0;
};

void copy_list(const Buffer& from, std::int64_t begin, std::int64_t n, const Buffer& to, std::int64_t at) {
  const auto width = static_cast<std::int64_t>(size_of(to.dtype));
  copy_in_steps(static_cast<char*>(to.data) + at * width, static_cast<const char*>(from.data) + begin * width,
                n * width);
}

}  // namespace

struct Builder::Impl {
  Shape shape;
  DType dtype, index;
  mutable std::mutex mutex;
  std::vector<BlockRun> runs;
  std::shared_ptr<Block> open;  ///< takes small lists
  std::int64_t size = 0;

  std::shared_ptr<Block> fresh(std::int64_t capacity) const {
    auto block = std::make_shared<Block>();
    block->capacity = capacity;
    for (std::size_t d = 0; d < shape.size(); ++d) block->lists.push_back(Buffer::allocate(index, capacity));
    block->lists.push_back(Buffer::allocate(dtype, capacity));
    return block;
  }
  static void put(Block& block, std::span<const Buffer> lists) {
    const std::int64_t n = lists.back().size;
    for (std::size_t l = 0; l < lists.size(); ++l) copy_list(lists[l], 0, n, block.lists[l], block.size);
    block.size += n;
  }
};

Builder::Builder(Shape shape, DType dtype) : impl_(std::make_shared<Impl>()) {
  check_shape(parse_format("COO", static_cast<int>(shape.size())), shape);
  impl_->index = index_dtype_for(shape.empty() ? 0 : *std::max_element(shape.begin(), shape.end()));
  impl_->shape = std::move(shape);
  impl_->dtype = dtype;
}

void Builder::add(std::span<const Buffer> coords, const Buffer& values, std::int64_t order) {
  Impl& all = *impl_;
  check_lists(coords, values.size, all.shape);
  if (!can_cast(values.dtype, all.dtype))
    throw DTypeError({.what = "the values are not of a kind that the builder holds",
                      .expected = std::string(name_of(all.dtype)) + ", or what casts to it",
                      .got = std::string(name_of(values.dtype)),
                      .fix = "make the builder with dtype " + std::string(name_of(values.dtype))});
  check_coordinates(coords, all.shape);
  const std::int64_t n = values.size;
  if (n == 0) return;
  std::vector<Buffer> lists;
  for (const Buffer& c : coords) lists.push_back(c.dtype == all.index ? c : c.cast(all.index));
  lists.push_back(values.dtype == all.dtype ? values : values.cast(all.dtype));
  std::shared_ptr<Block> block;
  if (n >= large) {
    block = all.fresh(n);
    Impl::put(*block, lists);
  }
  const std::lock_guard lock(all.mutex);
  std::int64_t begin = 0;
  if (!block) {
    if (!all.open || all.open->capacity - all.open->size < n) all.open = all.fresh(4 * large);
    block = all.open;
    begin = block->size;
    Impl::put(*block, lists);
  }
  BlockRun* const last = all.runs.empty() ? nullptr : &all.runs.back();
  if (last && last->block == block && last->order == order) last->size += n;
  else all.runs.push_back({order, block, begin, n});
  all.size += n;
}

std::int64_t Builder::size() const {
  const std::lock_guard lock(impl_->mutex);
  return impl_->size;
}
const Shape& Builder::shape() const { return impl_->shape; }
DType Builder::dtype() const { return impl_->dtype; }

Tensor Builder::build(const Format& format, const ConvertOptions& options, std::optional<Scalar> fill) const {
  std::vector<BlockRun> runs;
  {
    const std::lock_guard lock(impl_->mutex);
    runs = impl_->runs;
  }
  std::ranges::stable_sort(runs, {}, &BlockRun::order);
  std::vector<std::int64_t> starts(runs.size() + 1);
  for (std::size_t r = 0; r < runs.size(); ++r) starts[r + 1] = starts[r] + runs[r].size;
  const std::shared_ptr<Block> whole = impl_->fresh(starts.back());
  const std::int64_t count = static_cast<std::int64_t>(runs.size()), group = 256;
  parallel_for(ceil_div(count, group), [&](std::int64_t c) {
    for (std::int64_t k = c * group; k < std::min(count, (c + 1) * group); ++k) {
      const auto r = static_cast<std::size_t>(k);
      for (std::size_t l = 0; l < whole->lists.size(); ++l)
        copy_list(runs[r].block->lists[l], runs[r].begin, runs[r].size, whole->lists[l], starts[r]);
    }
  });
  return from_coo(std::span(whole->lists).first(whole->lists.size() - 1), whole->lists.back(), impl_->shape, format,
                  options, fill);
}

void Builder::clear() {
  std::vector<BlockRun> gone;  // let go outside of the lock
  const std::lock_guard lock(impl_->mutex);
  gone.swap(impl_->runs);
  impl_->open.reset();
  impl_->size = 0;
}

}  // namespace strata
