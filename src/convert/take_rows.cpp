#include "convert/take_rows.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>
#include <vector>

#include "convert/take_places.h"
#include "levels/index_view.h"
#include "tensor/source_changed.h"
#include "tensor/values.h"

namespace strata::slicing {
namespace {

constexpr i64 rows_ahead = 16;  ///< rows that lie anywhere are asked for so many before they are copied

/// A matrix that is read, and the one that comes of it.
struct TakenRows {
  const Part& part;
  const LevelArrays& from;
  std::size_t width;
  std::vector<i64> pos;  ///< lengths of the new rows, then where they begin
  LevelArrays level = {};
  Buffer values = {};

  TakenRows(const Tensor& t, i64 rows)
      : part(t.part()), from(part.levels[1]), width(size_of(t.dtype())), pos(static_cast<std::size_t>(rows) + 1) {}

  i64 count() const { return static_cast<i64>(pos.size()) - 1; }
  i64& length(i64 row) { return pos[static_cast<std::size_t>(row) + 1]; }
  i64 begin(i64 row) const { return pos[static_cast<std::size_t>(row)]; }

  /// Once all lengths are known.
  void allocate(DType dtype) {
    std::inclusive_scan(pos.begin(), pos.end(), pos.begin());
    const DType wider =
        holds(DType::i32, pos.back()) ? DType::i32 : DType::i64;  // rows that repeat may be more than were counted
    level.pos = Buffer::allocate(holds(from.pos.dtype, pos.back()) ? from.pos.dtype : wider, count() + 1);
    with_index_type(level.pos.dtype, [&]<class P>(P) {
      std::transform(pos.begin(), pos.end(), static_cast<P*>(level.pos.data), [](i64 p) { return static_cast<P>(p); });
    });
    level.crd = Buffer::allocate(from.crd.dtype, pos.back());
    if (part.value_stride != 0) values = Buffer::allocate(dtype, pos.back());
  }

  Tensor tensor(TensorType type, std::size_t dim, i64 extent) && {
    type.shape[dim] = extent;
    Part out = part;
    out.ranges = type.format.level_ranges(type.shape);
    type.pos_dtype = level.pos.dtype;
    out.levels[1] = std::move(level);
    if (part.value_stride != 0) out.values = std::move(values), out.value_stride = 1;
    return make_from_parts(std::move(type), {std::move(out)});
  }
};

/// Values of one width on their way: of a tensor whose values share one slot none move.
template <class T> struct ValueCopier {
  const char* from;
  char* to;
  i64 stride;
  explicit ValueCopier(const TakenRows& rows)
      : from(static_cast<const char*>(rows.part.values.data)),
        to(static_cast<char*>(rows.values.data)),
        stride(rows.part.value_stride) {}
  void one(i64 k, i64 at) const {
    if (stride != 0)
      std::memcpy(to + k * static_cast<i64>(sizeof(T)), from + at * stride * static_cast<i64>(sizeof(T)), sizeof(T));
  }
  void some(i64 k, i64 at, i64 n) const {
    constexpr i64 few = 16;  // a call costs as much
    if (stride == 1 && n > few)
      std::memcpy(to + k * static_cast<i64>(sizeof(T)), from + at * static_cast<i64>(sizeof(T)),
                  static_cast<std::size_t>(n) * sizeof(T));
    else
      for (i64 e = 0; e < n; ++e) one(k + e, at + e);
  }
};

/// f(C{}, T{}): coordinates by their width alone, as none is negative (half as many loops to compile), and values by
/// theirs.
template <class F> void with_types(const TakenRows& rows, const F& f) {
  const auto of = [&]<class C>(C c) { with_width(rows.width, [&]<class T>(T v) { f(c, v); }); };
  switch (size_of(rows.from.crd.dtype)) {
    case 1: return of(std::uint8_t{});
    case 2: return of(std::uint16_t{});
    case 4: return of(std::uint32_t{});
    default: return of(std::uint64_t{});
  }
}

/// Where rows begin, and the last one ends; read once, as another thread may write there.
std::vector<i64> starts_of(const TakenRows& rows) {
  std::vector<i64> out(static_cast<std::size_t>(rows.count()) + 1);
  IndexView(rows.from.pos).read(0, rows.count() + 1, out.data());
  if (out.front() < 0 || out.back() > rows.from.crd.size || !std::ranges::is_sorted(out)) throw SourceChanged();
  return out;
}

/// Where each coordinate goes, or -1; empty where one goes to two places, or the table would be too long.
std::vector<std::int32_t> single_places(std::span<const i64> coordinates, i64 extent, i64 stored) {
  const auto n = static_cast<i64>(coordinates.size());
  if (extent > std::max<i64>(1024, 4 * (stored + n)) || n > INT32_MAX) return {};
  std::vector<std::int32_t> out(static_cast<std::size_t>(extent), -1);
  for (i64 k = 0; k < n; ++k) {
    std::int32_t& place = out[static_cast<std::size_t>(coordinates[static_cast<std::size_t>(k)])];
    if (place >= 0) return {};
    place = static_cast<std::int32_t>(k);
  }
  return out;
}

/// Sorts (coordinate, place), equal coordinates as they came.
void sort_pairs(std::vector<std::pair<i64, i64>>& row) { std::ranges::sort(row); }

/// Sorts a row that is written by its coordinates, equal ones as they came.
template <class C, class T> void sort_row(C* crd, char* values, i64 n) {
  constexpr i64 few = 24;
  const auto value = [&](i64 k) { return values + k * static_cast<i64>(sizeof(T)); };
  if (n > few) {
    thread_local std::vector<std::pair<i64, i64>> row;
    thread_local std::vector<char> before;
    row.clear();
    for (i64 k = 0; k < n; ++k) row.emplace_back(static_cast<i64>(crd[k]), k);
    sort_pairs(row);
    if (values) before.assign(values, value(n));
    for (i64 k = 0; k < n; ++k) {
      const auto [c, at] = row[static_cast<std::size_t>(k)];
      crd[k] = static_cast<C>(c);
      if (values) std::memcpy(value(k), before.data() + at * static_cast<i64>(sizeof(T)), sizeof(T));
    }
    return;
  }
  for (i64 k = 1; k < n; ++k) {
    const C c = crd[k];
    if (crd[k - 1] <= c) continue;
    const T v = values ? load_as<T>(value(k)) : T{};
    i64 to = k;
    for (; to > 0 && crd[to - 1] > c; --to) {
      crd[to] = crd[to - 1];
      if (values) std::memcpy(value(to), value(to - 1), sizeof(T));
    }
    crd[to] = c;
    if (values) std::memcpy(value(to), &v, sizeof(T));
  }
}

/// Columns of which each goes to one place at most.
void copy_placed(TakenRows& rows, std::span<const std::int32_t> place, bool in_order, DType dtype) {
  const std::vector<i64> starts = starts_of(rows);
  const auto extent = static_cast<std::uint64_t>(place.size());
  with_types(rows, [&]<class C, class T>(C, T) {
    const C* const from = static_cast<const C*>(rows.from.crd.data);
    const auto place_of = [&](i64 e) {
      const auto c = static_cast<std::uint64_t>(from[e]);
      if (c >= extent) throw SourceChanged();
      return place[c];
    };
    each_row(rows.count(), [&](i64 k) {
      i64 n = 0;
      for (i64 e = starts[static_cast<std::size_t>(k)], end = starts[static_cast<std::size_t>(k) + 1]; e < end; ++e)
        n += place_of(e) >= 0;
      rows.length(k) = n;
    });
    rows.allocate(dtype);
    C* const crd = static_cast<C*>(rows.level.crd.data);
    const ValueCopier<T> values(rows);
    each_row(rows.count(), [&](i64 k) {
      const i64 begin = rows.begin(k), stop = rows.begin(k + 1);
      i64 to = begin;
      // Written before it is known to be taken, and written over where it is not: what is taken is what a core cannot
      // guess.
      for (i64 e = starts[static_cast<std::size_t>(k)], end = starts[static_cast<std::size_t>(k) + 1];
           e < end && to < stop; ++e) {
        const std::int32_t at = place_of(e);
        crd[to] = static_cast<C>(at);
        values.one(to, e);
        to += at >= 0;
      }
      if (to < stop) throw SourceChanged();
      if (!in_order)
        sort_row<C, T>(crd + begin, values.stride == 0 ? nullptr : values.to + begin * static_cast<i64>(sizeof(T)),
                       stop - begin);
    });
  });
}

/// Columns that may go to several places.
void copy_repeated(TakenRows& rows, std::span<const i64> coordinates, i64 extent, bool in_order, DType dtype) {
  const std::vector<i64> starts = starts_of(rows);
  const NewPlaces places(coordinates, extent, rows.from.crd.size);
  with_types(rows, [&]<class C, class T>(C, T) {
    const C* const from = static_cast<const C*>(rows.from.crd.data);
    const auto of_row = [&](i64 k, const auto& f) {
      for (i64 e = starts[static_cast<std::size_t>(k)], end = starts[static_cast<std::size_t>(k) + 1]; e < end; ++e) {
        const auto c = static_cast<i64>(from[e]);
        if (c < 0 || c >= extent) throw SourceChanged();
        for (i64 place : places.of(c)) f(place, e);
      }
    };
    each_row(rows.count(), [&](i64 k) { of_row(k, [&](i64, i64) { ++rows.length(k); }); });
    rows.allocate(dtype);
    C* const crd = static_cast<C*>(rows.level.crd.data);
    const ValueCopier<T> values(rows);
    each_row(rows.count(), [&](i64 k) {
      i64 to = rows.begin(k);
      const i64 stop = rows.begin(k + 1);
      const auto write = [&](i64 place, i64 e) {
        if (to == stop) throw SourceChanged();
        crd[to] = static_cast<C>(place);
        values.one(to++, e);
      };
      if (in_order) {
        of_row(k, write);
      } else {
        thread_local std::vector<std::pair<i64, i64>> row;
        row.clear();
        of_row(k, [&](i64 place, i64 e) { row.emplace_back(place, e); });
        sort_pairs(row);
        for (const auto& [place, e] : row) write(place, e);
      }
      if (to != stop) throw SourceChanged();
    });
  });
}

}  // namespace

bool holds(DType index, i64 largest) {
  return with_index_type(index, [&]<class I>(I) {
    return static_cast<std::uint64_t>(largest) <= static_cast<std::uint64_t>(std::numeric_limits<I>::max());
  });
}

Tensor take_rows(const Tensor& t, std::size_t dim, std::span<const i64> coordinates) {
  TakenRows rows(t, static_cast<i64>(coordinates.size()));
  std::vector<i64> starts(coordinates.size());
  with_index_type(rows.from.pos.dtype, [&]<class P>(P) {
    const char* const pos = static_cast<const char*>(rows.from.pos.data);
    each_row(rows.count(), [&](i64 k) {
      const char* const at = pos + coordinates[static_cast<std::size_t>(k)] * static_cast<i64>(sizeof(P));
      const auto begin = static_cast<i64>(load_as<P>(at)), end = static_cast<i64>(load_as<P>(at + sizeof(P)));
      if (begin < 0 || end < begin || end > rows.from.crd.size) throw SourceChanged();
      starts[static_cast<std::size_t>(k)] = begin;
      rows.length(k) = end - begin;
    });
  });
  rows.allocate(t.dtype());
  with_types(rows, [&]<class C, class T>(C, T) {
    const C* const from = static_cast<const C*>(rows.from.crd.data);
    C* const crd = static_cast<C*>(rows.level.crd.data);
    const ValueCopier<T> values(rows);
    each_row(rows.count(), [&](i64 k) {
      if (k + rows_ahead < rows.count()) {
        const i64 ahead = starts[static_cast<std::size_t>(k + rows_ahead)];
        const char* const value = values.from + ahead * values.stride * static_cast<i64>(sizeof(T));
        __builtin_prefetch(from + ahead);
        __builtin_prefetch(value);
        __builtin_prefetch(value + 64);
      }
      const i64 to = rows.begin(k), n = rows.begin(k + 1) - to, at = starts[static_cast<std::size_t>(k)];
      std::copy_n(from + at, n, crd + to);
      values.some(to, at, n);
    });
  });
  return std::move(rows).tensor(t.type(), dim, static_cast<i64>(coordinates.size()));
}

Tensor take_columns(const Tensor& t, std::size_t outer, std::size_t dim, std::span<const i64> coordinates) {
  TakenRows rows(t, t.shape()[outer]);
  const i64 extent = t.shape()[dim];
  const bool in_order = std::ranges::is_sorted(coordinates) || !t.format().level(1).ordered;
  const auto place = single_places(coordinates, extent, rows.from.crd.size);
  if (!place.empty()) copy_placed(rows, place, in_order, t.dtype());
  else copy_repeated(rows, coordinates, extent, in_order, t.dtype());
  return std::move(rows).tensor(t.type(), dim, static_cast<i64>(coordinates.size()));
}

}  // namespace strata::slicing
