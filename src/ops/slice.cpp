// Parts of a tensor by slices: a conversion that leaves elements out, and moves the others.
#include <algorithm>
#include <cstring>
#include <numeric>

#include "backend/pool.h"
#include "base/share.h"
#include "format/recognise.h"
#include "ops/convert_elements.h"
#include "strata/ops.h"
#include "tensor/index_view.h"

namespace strata {
namespace {

using i64 = std::int64_t;

bool is_whole(const Slice& s, i64 extent) { return s.keeps && s.start == 0 && s.step == 1 && s.count == extent; }

/// Where a coordinate goes, or -1: it is not taken.
i64 place_of(const Slice& s, i64 coordinate) {
  const i64 from_start = coordinate - s.start, at = from_start / s.step;
  return from_start % s.step != 0 || at < 0 || at >= s.count ? -1 : at;
}

void check(const Shape& shape, std::span<const Slice> slices) {
  if (slices.size() != shape.size())
    throw IndexError({.what = "a slice needs one entry per dimension", .expected = std::to_string(shape.size()), .got = std::to_string(slices.size())});
  for (std::size_t d = 0; d < slices.size(); ++d) {
    const Slice& s = slices[d];
    const auto inside = [&](i64 c) { return c >= 0 && c < shape[d]; };
    const i64 most = (i64{1} << 62) / std::max<i64>(1, s.count);
    const bool small = s.step <= most && s.step >= -most;
    if (s.count < 0 || s.step == 0 || (!s.keeps && s.count != 1) || !small || (s.count > 0 && !(inside(s.start) && inside(s.start + (s.count - 1) * s.step))))
      throw IndexError({.what = std::string(s.keeps ? "a slice" : "a coordinate") + " leaves dimension " + std::to_string(d),
                        .expected = shape[d] > 0 ? "coordinates from 0 to " + std::to_string(shape[d] - 1) : "none: the dimension has extent 0",
                        .got = s.keeps ? std::to_string(s.count) + " from " + std::to_string(s.start) + " on, in steps of " + std::to_string(s.step) : std::to_string(s.start)});
  }
}

/// Borrowed memory may begin anywhere.
bool is_aligned(const Buffer& b) { return reinterpret_cast<std::uintptr_t>(b.data) % size_of(b.dtype) == 0; }

Buffer piece_of(const Buffer& b, i64 begin, i64 end) {
  Buffer out = b;
  out.data = static_cast<char*>(b.data) + begin * static_cast<i64>(size_of(b.dtype));
  out.size = end - begin;
  return out;
}

/// Rows that follow each other of a CSR matrix (or columns of CSC), which share its arrays.
Tensor neighbours(const Tensor& t, std::size_t dim, i64 begin, i64 count) {
  TensorType type = t.type();
  type.shape[dim] = count;
  Part part = t.part();
  part.ranges = type.format.level_ranges(type.shape);
  LevelArrays& level = part.levels[1];
  const i64 first = level.pos.index(begin), last = level.pos.index(begin + count);
  const Buffer pos = Buffer::allocate(level.pos.dtype, count + 1);
  for (i64 k = 0; k <= count; ++k) pos.set_index(k, level.pos.index(begin + k) - first);
  level.pos = pos;
  level.crd = piece_of(level.crd, first, last);
  if (part.value_stride != 0) part.values = piece_of(part.values, first * part.value_stride, last * part.value_stride);
  return make_from_parts(std::move(type), {std::move(part)});
}

/// Any rows and columns of a CSR matrix (columns and rows of CSC): counted, then copied.
Tensor rows_and_columns(const Tensor& t, const Slice& rows, std::size_t outer, const Slice& columns, std::size_t inner) {
  TensorType type = t.type();
  type.shape[outer] = rows.count;
  type.shape[inner] = columns.count;
  Part part = t.part();
  part.ranges = type.format.level_ranges(type.shape);
  LevelArrays& level = part.levels[1];
  const LevelArrays from = level;
  const Buffer values = part.values;
  const i64 width = static_cast<i64>(size_of(type.dtype)), chunks = std::clamp<i64>(rows.count / 1024, 1, 256);
  // f(new row, old row)
  const auto for_rows = [&](const auto& f) {
    parallel_for(chunks, [&](i64 c) {
      for (i64 k = begin_of_share(rows.count, c, chunks), end = begin_of_share(rows.count, c + 1, chunks); k < end; ++k) f(k, rows.start + k * rows.step);
    });
  };
  level.pos = Buffer::allocate(from.pos.dtype, rows.count + 1);
  with_index_type(from.pos.dtype, [&]<class P>(P) {
    with_index_type(from.crd.dtype, [&]<class C>(C) {
      const P* const old_pos = static_cast<const P*>(from.pos.data);
      const C* const old_crd = static_cast<const C*>(from.crd.data);
      P* const pos = static_cast<P*>(level.pos.data);
      for_rows([&](i64 k, i64 row) {
        pos[k + 1] = static_cast<P>(std::count_if(old_crd + old_pos[row], old_crd + old_pos[row + 1], [&](C c) { return place_of(columns, static_cast<i64>(c)) >= 0; }));
      });
      pos[0] = 0;
      for (i64 k = 0; k < rows.count; ++k) pos[k + 1] = static_cast<P>(pos[k] + pos[k + 1]);
      level.crd = Buffer::allocate(from.crd.dtype, static_cast<i64>(pos[rows.count]));
      C* const crd = static_cast<C*>(level.crd.data);
      const bool copies = part.value_stride != 0;
      if (copies) part.values = Buffer::allocate(values.dtype, static_cast<i64>(pos[rows.count]));
      for_rows([&](i64 k, i64 row) {
        i64 to = static_cast<i64>(pos[k]);
        const i64 n = static_cast<i64>(old_pos[row + 1] - old_pos[row]), first = static_cast<i64>(old_pos[row]);
        for (i64 e = 0; e < n; ++e) {
          const i64 source = columns.step > 0 ? first + e : first + n - 1 - e;  // columns that are taken backwards turn the order round
          const i64 at = place_of(columns, static_cast<i64>(old_crd[source]));
          if (at < 0) continue;
          crd[to] = static_cast<C>(at);
          if (copies) std::memcpy(static_cast<char*>(part.values.data) + to * width, static_cast<const char*>(values.data) + source * part.value_stride * width, static_cast<std::size_t>(width));
          ++to;
        }
      });
      if (copies) part.value_stride = 1;
    });
  });
  return make_from_parts(std::move(type), {std::move(part)});
}

/// What slices take of the elements, by their new coordinates.
class Taken {
 public:
  Taken(std::span<const Slice> slices, std::size_t width) : slices_(slices), width_(width), columns_(slices.size()) {}

  conversion::Piece of(const conversion::Piece& piece) {
    at_.resize(static_cast<std::size_t>(piece.n));
    std::iota(at_.begin(), at_.end(), 0);
    for (std::size_t d = 0; d < slices_.size(); ++d) std::erase_if(at_, [&](int k) { return place_of(slices_[d], piece.dims[d][k]) < 0; });
    dims_.clear();
    for (std::size_t d = 0; d < slices_.size(); ++d) {
      if (!slices_[d].keeps) continue;
      columns_[d].clear();
      for (int k : at_) columns_[d].push_back(place_of(slices_[d], piece.dims[d][k]));
      dims_.push_back(columns_[d].data());
    }
    values_.resize(at_.size() * width_);
    for (std::size_t k = 0; k < at_.size(); ++k) std::memcpy(values_.data() + k * width_, piece.values + static_cast<std::size_t>(at_[k]) * width_, width_);
    return {static_cast<int>(at_.size()), dims_.data(), values_.data()};
  }

 private:
  std::span<const Slice> slices_;
  std::size_t width_;
  std::vector<int> at_;  ///< places in the piece
  std::vector<std::vector<i64>> columns_;
  std::vector<const i64*> dims_;
  std::vector<char> values_;
};

}  // namespace

Tensor slice(const Tensor& t, std::span<const Slice> slices) {
  check(t.shape(), slices);
  Tensor from = t;
  std::vector<Slice> left(slices.begin(), slices.end());
  if (const auto dims = rows_of(t.format(), LevelKind::compressed)) {
    const auto outer = static_cast<std::size_t>(dims->outer), inner = static_cast<std::size_t>(dims->inner);
    Slice &rows = left[outer], &columns = left[inner];
    if (rows.step == 1 && rows.count < t.shape()[outer]) {
      from = neighbours(t, outer, rows.start, rows.count);
      rows.start = 0;
    }
    const LevelArrays& level = from.part().levels[1];
    if (rows.keeps && columns.keeps && is_aligned(level.pos) && is_aligned(level.crd) && !(is_whole(rows, from.shape()[outer]) && is_whole(columns, from.shape()[inner])))
      return rows_and_columns(from, rows, outer, columns, inner);
  }
  bool whole = true;
  Shape shape;
  std::vector<int> order;
  for (std::size_t d = 0; d < left.size(); ++d) {
    whole = whole && is_whole(left[d], from.shape()[d]);
    if (!left[d].keeps) continue;
    order.push_back(static_cast<int>(shape.size()));
    shape.push_back(left[d].count);
  }
  if (whole) return from;
  const Format format = shape.size() == left.size() && conversion::takes_any(t.format()) ? t.format()
                        : t.format().is_all_dense()                          ? conversion::dense_format(static_cast<int>(shape.size()))
                                                                             : conversion::levels_in_order(order, false);
  const conversion::Source stored = conversion::stored_elements(from, Zeros::automatic);
  const auto kept = [&](const conversion::Sink& sink) {
    Taken taken(left, size_of(t.dtype()));
    stored.emit([&](const conversion::Piece& piece) { sink(taken.of(piece)); });
  };
  return conversion::assemble({kept}, t.dtype(), t.fill(), shape, format, {.zeros = Zeros::keep});
}

}  // namespace strata
