// Padding: elements that move, and more fill around them.
#include <algorithm>
#include <numeric>
#include <vector>

#include "base/checked.h"
#include "convert/convert_elements.h"
#include "convert/slice_rows.h"
#include "convert/window.h"
#include "levels/level_storage.h"
#include "tensor/source_changed.h"

namespace strata {

using slicing::i64;

namespace {

std::vector<Slice> slices_of(const Tensor& t, std::span<const i64> least, const Shape& shape) {
  std::vector<Slice> out;
  for (std::size_t d = 0; d < shape.size(); ++d) {
    const auto reach = checked_add(t.shape()[d], least[d] < 0 ? -least[d] : least[d]);
    if (!reach || !checked_add(*reach, shape[d]))
      throw TensorError({.what = "padding leaves no room for coordinates in dimension " + std::to_string(d),
                         .expected = "extents that fit 64 bits",
                         .got = std::to_string(shape[d]) + " coordinates from " + std::to_string(least[d]) +
                                " on, of " + std::to_string(t.shape()[d])});
    out.push_back({.start = least[d], .count = shape[d], .step = 1, .keeps = true});
  }
  return out;
}

std::vector<int> dimensions(int rank) {
  std::vector<int> out(static_cast<std::size_t>(rank));
  std::iota(out.begin(), out.end(), 0);
  return out;
}

/// Row after row of what lies in both.
class RowCopy {
 public:
  RowCopy(const Tensor& from, std::span<const i64> least, const Shape& shape, char* to)
      : from_(from.part()), width_(size_of(from.dtype())), to_(to), ends_(shape.size()) {
    const std::size_t rank = shape.size();
    i64 stride = 1;
    for (std::size_t d = rank; d-- > 0;) {
      Range& r = ends_[d];
      r.begin = std::max<i64>(0, least[d]);
      r.end = std::min(from.shape()[d], least[d] + shape[d]);
      r.from = from_.strides[d];
      r.to = stride;
      start_ -= least[d] * stride;
      stride *= shape[d];
    }
  }
  void run() const { copy(0, from_.values_offset, start_); }

 private:
  struct Range {
    i64 begin = 0, end = 0, from = 0, to = 0;  ///< coordinates of the tensor; strides
  };
  void copy(std::size_t d, i64 from, i64 to) const {
    const auto address = [&](i64 c) {
      return std::pair(
          to_ + (to + c * ends_[d].to) * static_cast<i64>(width_),
          static_cast<const char*>(from_.values.data) + (from + c * ends_[d].from) * static_cast<i64>(width_));
    };
    const Range& r = ends_[d];
    if (r.begin >= r.end) return;
    if (d + 1 < ends_.size())
      for (i64 c = r.begin; c < r.end; ++c) copy(d + 1, from + c * r.from, to + c * r.to);
    else if (r.from == 1)
      std::memcpy(address(r.begin).first, address(r.begin).second, static_cast<std::size_t>(r.end - r.begin) * width_);
    else
      for (i64 c = r.begin; c < r.end; ++c) slicing::copy_one(address(c).first, address(c).second, width_);
  }

  const Part& from_;
  std::size_t width_;
  char* to_;
  i64 start_ = 0;
  std::vector<Range> ends_;
};

Tensor dense_window(const Tensor& t, std::span<const i64> least, const Shape& shape) {
  const Tensor whole = to_dense(t);
  const auto size = checked_product(shape);
  if (!size)
    throw TensorError({.what = "a dense tensor of this shape does not fit 64 bits",
                       .expected = "fewer elements",
                       .got = "padding of " + t.type().to_string()});
  storage::require_memory(*size, static_cast<i64>(size_of(t.dtype())));
  RawArrays arrays;
  arrays.values = Buffer::filled(t.fill(), *size);
  if (*size > 0) RowCopy(whole, least, shape, static_cast<char*>(arrays.values.data)).run();
  return convert(make_tensor(whole.format(), shape, std::move(arrays), t.fill(), false), format_of_window(t.format()));
}

}  // namespace

Format format_of_window(const Format& f) {
  const bool rows = f.num_parts() == 1 && f.is_identity() && std::ranges::all_of(f.levels(), [](const Level& l) {
                      return l.kind != LevelKind::structured && l.kind != LevelKind::batch;
                    });
  return rows ? f : slicing::format_of_part(f, dimensions(f.rank()));
}

Format format_of_sparse_window(int rank) { return conversion::levels_in_order(dimensions(rank), false); }

Tensor window(const Tensor& t, std::span<const i64> least, const Shape& shape) {
  const std::vector<Slice> slices = slices_of(t, least, shape);
  if (std::ranges::all_of(least, [](i64 x) { return x == 0; }) && shape == t.shape()) return t;
  if (t.format().is_all_dense()) return dense_window(t, least, shape);
  return while_it_changes(t, [&](const Tensor& source) {
    return slicing::elements_of(source, slices, format_of_window(t.format()), Zeros::automatic);
  });
}

Tensor sparse_window(const Tensor& t, std::span<const i64> least, const Shape& shape) {
  const std::vector<Slice> slices = slices_of(t, least, shape);
  return while_it_changes(t, [&](const Tensor& source) {
    return slicing::elements_of(source, slices, format_of_sparse_window(t.rank()), Zeros::keep);
  });
}

Tensor pad(const Tensor& t, std::span<const i64> before, std::span<const i64> after) {
  const std::size_t rank = t.shape().size();
  if (before.size() != rank || after.size() != rank)
    throw TensorError({.what = "padding needs two widths per dimension",
                       .expected = std::to_string(rank) + " before and " + std::to_string(rank) + " after",
                       .got = std::to_string(before.size()) + " and " + std::to_string(after.size())});
  std::vector<i64> least(rank);
  Shape shape = t.shape();
  for (std::size_t d = 0; d < rank; ++d) {
    if (before[d] < 0 || after[d] < 0)
      throw TensorError({.what = "a width is negative",
                         .expected = "0 or more",
                         .got = std::to_string(std::min(before[d], after[d])) + " in dimension " + std::to_string(d),
                         .fix = "take a slice to make it smaller"});
    const auto with_front = checked_add(shape[d], before[d]);
    const auto extent = with_front ? checked_add(*with_front, after[d]) : std::nullopt;
    if (!extent)
      throw TensorError({.what = "dimension " + std::to_string(d) + " would be too long",
                         .expected = "an extent that fits 64 bits",
                         .got = std::to_string(shape[d]) + " between " + std::to_string(before[d]) + " and " +
                                std::to_string(after[d])});
    least[d] = -before[d];
    shape[d] = *extent;
  }
  return window(t, least, shape);
}

}  // namespace strata
