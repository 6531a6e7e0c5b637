#include "convert/slice_rows.h"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "levels/index_view.h"
#include "tensor/source_changed.h"
#include "tensor/tensor_impl.h"

namespace strata::slicing {
namespace {

Buffer piece_of(const Buffer& b, i64 begin, i64 end) {
  Buffer out = b;
  out.data = static_cast<char*>(b.data) + begin * static_cast<i64>(size_of(b.dtype));
  out.size = end - begin;
  return out;
}

/// Where rows begin, and the last one ends; read once, as another thread may write there.
std::vector<i64> starts_of(const LevelArrays& level, i64 begin, i64 count) {
  std::vector<i64> out(static_cast<std::size_t>(count) + 1);
  IndexView(level.pos).read(begin, count + 1, out.data());
  if (out.front() < 0 || out.back() > level.crd.size || !std::ranges::is_sorted(out)) throw SourceChanged();
  return out;
}

/// f(new row, old row), by all threads.
template <class F> void for_rows(const Slice& rows, const F& f) {
  each_row(rows.count, [&](i64 k) { f(k, rows.start + k * rows.step); });
}

/// A matrix that is read, the columns that are taken of it, and what is written.
template <class C> struct Copy {
  const Slice &rows, &columns;
  std::vector<i64> pos;  ///< of the old rows
  const C* crd;
  const char* values;
  i64 value_stride;
  std::size_t width;
  std::vector<i64> to_pos;  ///< lengths of the new rows, then where they begin
  Buffer to_crd, to_values;

  void begin_rows() { std::inclusive_scan(to_pos.begin(), to_pos.end(), to_pos.begin()); }
  void allocate(DType crd_dtype, DType dtype) {
    to_crd = Buffer::allocate(crd_dtype, to_pos.back());
    if (value_stride != 0) to_values = Buffer::allocate(dtype, to_pos.back());
  }
  void copy_value(i64 to, i64 from) const {
    if (value_stride != 0)
      copy_one(static_cast<char*>(to_values.data) + to * static_cast<i64>(width),
               values + from * value_stride * static_cast<i64>(width), width);
  }
};

/// Of ascending coordinates how many lie before one: counting beats searching in a short row.
template <class C> i64 below(const C* crd, i64 n, i64 limit) {
  const auto less = [limit](C c) { return static_cast<i64>(c) < limit; };
  return n <= 64 ? std::count_if(crd, crd + n, less) : std::partition_point(crd, crd + n, less) - crd;
}

/// Columns that follow each other, of rows that ascend: a run of each row.
template <class C> void copy_runs(Copy<C>& m, bool whole, DType crd_dtype, DType dtype) {
  const i64 first_column = m.columns.start, end_column = first_column + m.columns.count;
  std::vector<i64> begins(static_cast<std::size_t>(m.rows.count));
  for_rows(m.rows, [&](i64 k, i64 row) {
    i64 begin = m.pos[static_cast<std::size_t>(row)], n = m.pos[static_cast<std::size_t>(row) + 1] - begin;
    if (!whole) {
      n = below(m.crd + begin, n, end_column);
      const i64 before = below(m.crd + begin, n, first_column);
      begin += before, n -= before;
    }
    begins[static_cast<std::size_t>(k)] = begin;
    m.to_pos[static_cast<std::size_t>(k) + 1] = n;
  });
  m.begin_rows();
  m.allocate(crd_dtype, dtype);
  C* const crd = static_cast<C*>(m.to_crd.data);
  for_rows(m.rows, [&](i64 k, i64) {
    const i64 from = begins[static_cast<std::size_t>(k)], to = m.to_pos[static_cast<std::size_t>(k)],
              n = m.to_pos[static_cast<std::size_t>(k) + 1] - to;
    bool outside = false;
    for (i64 e = 0; e < n; ++e) {
      const i64 at = static_cast<i64>(m.crd[from + e]) - first_column;
      outside |= at < 0 || at >= m.columns.count;
      crd[to + e] = static_cast<C>(at);
    }
    if (outside) throw SourceChanged();
    if (m.value_stride == 1 && n > 0)
      std::memcpy(static_cast<char*>(m.to_values.data) + to * static_cast<i64>(m.width),
                  m.values + from * static_cast<i64>(m.width), static_cast<std::size_t>(n) * m.width);
    else
      for (i64 e = 0; e < n; ++e) m.copy_value(to + e, from + e);
  });
}

/// Any columns: place(column) is the new one, or -1.
template <class C, class Place> void copy_chosen(Copy<C>& m, const Place& place, DType crd_dtype, DType dtype) {
  for_rows(m.rows, [&](i64 k, i64 row) {
    const C *begin = m.crd + m.pos[static_cast<std::size_t>(row)],
            *end = m.crd + m.pos[static_cast<std::size_t>(row) + 1];
    m.to_pos[static_cast<std::size_t>(k) + 1] =
        std::count_if(begin, end, [&](C c) { return place(static_cast<i64>(c)) >= 0; });
  });
  m.begin_rows();
  m.allocate(crd_dtype, dtype);
  C* const crd = static_cast<C*>(m.to_crd.data);
  for_rows(m.rows, [&](i64 k, i64 row) {
    const i64 begin = m.pos[static_cast<std::size_t>(row)], last = m.pos[static_cast<std::size_t>(row) + 1] - 1,
              stop = m.to_pos[static_cast<std::size_t>(k) + 1];
    i64 to = m.to_pos[static_cast<std::size_t>(k)];
    // Written before it is known to be taken, and written over where it is not: what is taken is what a core cannot
    // guess. Columns that are taken backwards turn the order round.
    for (i64 e = 0; begin + e <= last && to < stop; ++e) {
      const i64 from = m.columns.step > 0 ? begin + e : last - e, at = place(static_cast<i64>(m.crd[from]));
      crd[to] = static_cast<C>(at);
      m.copy_value(to, from);
      to += at >= 0;
    }
    if (to < stop) throw SourceChanged();
  });
}

template <class C> void copy(Copy<C>& m, const Tensor& t, i64 extent) {
  const DType crd_dtype = t.part().levels[1].crd.dtype;
  const bool whole =
      is_whole({.start = m.columns.start, .count = m.columns.count, .step = m.columns.step, .keeps = true}, extent);
  if (whole || (m.columns.step == 1 && t.part().format.level(1).ordered))
    return copy_runs(m, whole, crd_dtype, t.dtype());
  // A table costs less than a division for each element, where there are not far more columns than elements.
  if (extent > std::max<i64>(1024, 4 * m.pos.back()) || m.columns.count > INT32_MAX)
    return copy_chosen(m, [&](i64 c) { return place_of(m.columns, c); }, crd_dtype, t.dtype());
  std::vector<std::int32_t> places(static_cast<std::size_t>(extent), -1);
  for (i64 k = 0; k < m.columns.count; ++k)
    places[static_cast<std::size_t>(m.columns.start + k * m.columns.step)] = static_cast<std::int32_t>(k);
  const auto place = [&](i64 c) { return c < 0 || c >= extent ? -1 : i64{places[static_cast<std::size_t>(c)]}; };
  copy_chosen(m, place, crd_dtype, t.dtype());
}

}  // namespace

Tensor neighbours(const Tensor& t, std::size_t dim, i64 begin, i64 count) {
  TensorType type = t.type();
  type.shape[dim] = count;
  Part part = t.part();
  part.ranges = type.format.level_ranges(type.shape);
  LevelArrays& level = part.levels[1];
  const std::vector<i64> starts = starts_of(level, begin, count);
  const i64 first = starts.front(), last = starts.back();
  const Buffer pos = Buffer::allocate(level.pos.dtype, count + 1);
  for (i64 k = 0; k <= count; ++k) pos.set_index(k, starts[static_cast<std::size_t>(k)] - first);
  level.pos = pos;
  level.crd = piece_of(level.crd, first, last);
  if (part.value_stride != 0) part.values = piece_of(part.values, first * part.value_stride, last * part.value_stride);
  return make_from_parts(std::move(type), {std::move(part)});
}

Tensor rows_and_columns(const Tensor& t, const Slice& rows, std::size_t outer, const Slice& columns,
                        std::size_t inner) {
  TensorType type = t.type();
  type.shape[outer] = rows.count;
  type.shape[inner] = columns.count;
  Part part = t.part();
  part.ranges = type.format.level_ranges(type.shape);
  LevelArrays& level = part.levels[1];
  with_index_type(level.crd.dtype, [&]<class C>(C) {
    Copy<C> m{.rows = rows,
              .columns = columns,
              .pos = starts_of(level, 0, t.shape()[outer]),
              .crd = static_cast<const C*>(level.crd.data),
              .values = static_cast<const char*>(part.values.data),
              .value_stride = part.value_stride,
              .width = size_of(type.dtype),
              .to_pos = std::vector<i64>(static_cast<std::size_t>(rows.count) + 1),
              .to_crd = {},
              .to_values = {}};
    copy(m, t, t.shape()[inner]);
    const Buffer pos = Buffer::allocate(level.pos.dtype, rows.count + 1);
    with_index_type(pos.dtype, [&]<class P>(P) {
      std::transform(m.to_pos.begin(), m.to_pos.end(), static_cast<P*>(pos.data),
                     [](i64 p) { return static_cast<P>(p); });
    });
    level.pos = pos;
    level.crd = m.to_crd;
    if (part.value_stride != 0) part.values = m.to_values, part.value_stride = 1;
  });
  return make_from_parts(std::move(type), {std::move(part)});
}

}  // namespace strata::slicing
