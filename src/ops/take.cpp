// The coordinates of one dimension in any order: a conversion that leaves elements out, moves the others, and repeats
// some.
#include <algorithm>
#include <cstring>
#include <limits>
#include <numeric>
#include <utility>

#include "format/recognise.h"
#include "ops/convert_elements.h"
#include "ops/slice_rows.h"
#include "ops/source_changed.h"
#include "tensor/index_view.h"
#include "tensor/tensor_impl.h"

namespace strata {

using namespace slicing;

namespace {

/// Where the coordinates of a dimension go: to no place, to one, or to several.
class Places {
 public:
  Places(std::span<const i64> coordinates, i64 extent, i64 stored) : places_(coordinates.size()) {
    std::iota(places_.begin(), places_.end(), 0);
    std::ranges::sort(places_, {}, [&](i64 k) { return std::pair(coordinates[static_cast<std::size_t>(k)], k); });
    // A table costs less than a search for each element, where it is not far longer than there are elements.
    if (extent <= std::max<i64>(1024, 4 * (stored + static_cast<i64>(coordinates.size())))) {
      begin_.assign(static_cast<std::size_t>(extent) + 1, 0);
      for (i64 c : coordinates) ++begin_[static_cast<std::size_t>(c) + 1];
      std::inclusive_scan(begin_.begin(), begin_.end(), begin_.begin());
    } else {
      for (i64 k : places_) sorted_.push_back(coordinates[static_cast<std::size_t>(k)]);
    }
  }

  /// Ascending.
  std::span<const i64> of(i64 coordinate) const {
    if (!begin_.empty()) {
      const i64 begin = begin_[static_cast<std::size_t>(coordinate)],
                end = begin_[static_cast<std::size_t>(coordinate) + 1];
      return {places_.data() + begin, static_cast<std::size_t>(end - begin)};
    }
    const auto [begin, end] = std::ranges::equal_range(sorted_, coordinate);
    return {places_.data() + (begin - sorted_.begin()), static_cast<std::size_t>(end - begin)};
  }

 private:
  std::vector<i64> places_, begin_, sorted_;
};

bool holds(DType index, i64 largest) {
  return with_index_type(index, [&]<class I>(I) {
    return static_cast<std::uint64_t>(largest) <= static_cast<std::uint64_t>(std::numeric_limits<I>::max());
  });
}

/// A CSR matrix that is read (or CSC), and the one that comes of it.
struct Rows {
  const Part& part;
  const LevelArrays& from;
  std::size_t width;
  std::vector<i64> pos;  ///< lengths of the new rows, then where they begin
  LevelArrays level = {};
  Buffer values = {};

  Rows(const Tensor& t, i64 rows)
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
    for (i64 k = 0; k <= count(); ++k) level.pos.set_index(k, begin(k));
    level.crd = Buffer::allocate(from.crd.dtype, pos.back());
    if (part.value_stride != 0) values = Buffer::allocate(dtype, pos.back());
  }
  void copy_value(i64 to, i64 at) const {
    if (part.value_stride != 0)
      copy_one(static_cast<char*>(values.data) + to * static_cast<i64>(width),
               static_cast<const char*>(part.values.data) + at * part.value_stride * static_cast<i64>(width), width);
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

/// Whole rows, one after the other.
Tensor take_rows(const Tensor& t, std::size_t dim, std::span<const i64> coordinates) {
  Rows rows(t, static_cast<i64>(coordinates.size()));
  const auto old = [&](i64 k) { return coordinates[static_cast<std::size_t>(k)]; };
  each_row(rows.count(), [&](i64 k) {
    rows.length(k) = rows.from.pos.index(old(k) + 1) - rows.from.pos.index(old(k));
    if (rows.length(k) < 0) throw SourceChanged();
  });
  rows.allocate(t.dtype());
  const std::size_t index_width = size_of(rows.from.crd.dtype);
  each_row(rows.count(), [&](i64 k) {
    const i64 to = rows.begin(k), n = rows.begin(k + 1) - to, at = rows.from.pos.index(old(k));
    if (n == 0) return;
    if (at < 0 || at > rows.from.crd.size - n) throw SourceChanged();
    std::memcpy(static_cast<char*>(rows.level.crd.data) + to * static_cast<i64>(index_width),
                static_cast<const char*>(rows.from.crd.data) + at * static_cast<i64>(index_width),
                static_cast<std::size_t>(n) * index_width);
    if (rows.part.value_stride == 1)
      std::memcpy(static_cast<char*>(rows.values.data) + to * static_cast<i64>(rows.width),
                  static_cast<const char*>(rows.part.values.data) + at * static_cast<i64>(rows.width),
                  static_cast<std::size_t>(n) * rows.width);
    else
      for (i64 e = 0; e < n; ++e) rows.copy_value(to + e, at + e);
  });
  return std::move(rows).tensor(t.type(), dim, static_cast<i64>(coordinates.size()));
}

/// Columns: each row in order again, where the coordinates are not.
Tensor take_columns(const Tensor& t, std::size_t outer, std::size_t dim, std::span<const i64> coordinates) {
  Rows rows(t, t.shape()[outer]);
  const i64 extent = t.shape()[dim];
  const Places places(coordinates, extent, rows.from.crd.size);
  const bool in_order = std::ranges::is_sorted(coordinates) || !t.format().level(1).ordered;
  with_index_type(rows.from.crd.dtype, [&]<class C>(C) {
    const C* const from = static_cast<const C*>(rows.from.crd.data);
    const auto of_row = [&](i64 k, const auto& f) {
      const i64 begin = rows.from.pos.index(k), end = rows.from.pos.index(k + 1);
      if (begin < 0 || end > rows.from.crd.size) throw SourceChanged();
      for (i64 e = begin; e < end; ++e) {
        const auto c = static_cast<i64>(from[e]);
        if (c < 0 || c >= extent) throw SourceChanged();
        for (i64 place : places.of(c)) f(place, e);
      }
    };
    each_row(rows.count(), [&](i64 k) { of_row(k, [&](i64, i64) { ++rows.length(k); }); });
    rows.allocate(t.dtype());
    C* const crd = static_cast<C*>(rows.level.crd.data);
    each_row(rows.count(), [&](i64 k) {
      i64 to = rows.begin(k);
      const i64 stop = rows.begin(k + 1);
      const auto write = [&](i64 place, i64 e) {
        if (to == stop) throw SourceChanged();
        crd[to] = static_cast<C>(place);
        rows.copy_value(to++, e);
      };
      if (in_order) {
        of_row(k, write);
      } else {
        thread_local std::vector<std::pair<i64, i64>> row;
        row.clear();
        of_row(k, [&](i64 place, i64 e) { row.emplace_back(place, e); });
        std::ranges::sort(row);
        for (const auto& [place, e] : row) write(place, e);
      }
      if (to != stop) throw SourceChanged();
    });
  });
  return std::move(rows).tensor(t.type(), dim, static_cast<i64>(coordinates.size()));
}

/// Each element once for each of its places.
class Repeated {
 public:
  Repeated(const Places& places, std::size_t dim, int rank, std::size_t width, const conversion::Sink& sink)
      : places_(places), dim_(dim), width_(width), sink_(sink), columns_(static_cast<std::size_t>(rank)) {}

  void add(const conversion::Piece& piece) {
    for (int k = 0; k < piece.n; ++k)
      for (i64 place : places_.of(piece.dims[dim_][k])) {
        for (std::size_t d = 0; d < columns_.size(); ++d) columns_[d].push_back(d == dim_ ? place : piece.dims[d][k]);
        const char* value = piece.values + static_cast<std::size_t>(k) * width_;
        values_.insert(values_.end(), value, value + width_);
        if (columns_[0].size() == 4096) flush();
      }
    flush();
  }

 private:
  void flush() {
    if (columns_[0].empty()) return;
    std::vector<const i64*> dims;
    for (const auto& column : columns_) dims.push_back(column.data());
    sink_({static_cast<int>(columns_[0].size()), dims.data(), values_.data()});
    for (auto& column : columns_) column.clear();
    values_.clear();
  }

  const Places& places_;
  const std::size_t dim_, width_;
  const conversion::Sink& sink_;
  std::vector<std::vector<i64>> columns_;
  std::vector<char> values_;
};

Tensor taken(const Tensor& t, std::size_t dim, std::span<const i64> coordinates) {
  if (const auto dims = rows_of(t.format(), LevelKind::compressed); dims && is_aligned(t.part().levels[1].crd)) {
    if (dim == static_cast<std::size_t>(dims->outer)) return take_rows(t, dim, coordinates);
    if (holds(t.part().levels[1].crd.dtype, static_cast<i64>(coordinates.size())))
      return take_columns(t, static_cast<std::size_t>(dims->outer), dim, coordinates);
  }
  Shape shape = t.shape();
  const Places places(coordinates, shape[dim], t.nse());
  shape[dim] = static_cast<i64>(coordinates.size());
  std::vector<int> order(shape.size());
  std::iota(order.begin(), order.end(), 0);
  const conversion::Source stored = conversion::stored_elements(t, Zeros::automatic);
  const auto chosen = [&](const conversion::Sink& sink) {
    Repeated repeated(places, dim, t.rank(), size_of(t.dtype()), sink);
    stored.emit([&](const conversion::Piece& piece) { repeated.add(piece); });
  };
  return conversion::assemble({chosen}, t.dtype(), t.fill(), shape, format_of_part(t, order), {.zeros = Zeros::keep});
}

}  // namespace

Tensor take(const Tensor& t, std::size_t dim, std::span<const std::int64_t> coordinates) {
  if (dim >= t.shape().size())
    throw IndexError({.what = "there is no dimension " + std::to_string(dim),
                      .expected = "fewer than " + std::to_string(t.rank()),
                      .got = std::to_string(dim)});
  const i64 extent = t.shape()[dim];
  for (i64 c : coordinates)
    if (c < 0 || c >= extent)
      throw IndexError({.what = "a coordinate leaves dimension " + std::to_string(dim),
                        .expected = extent > 0 ? "coordinates from 0 to " + std::to_string(extent - 1)
                                               : "none: the dimension has extent 0",
                        .got = std::to_string(c)});
  return while_it_changes(t, [&](const Tensor& source) { return taken(source, dim, coordinates); });
}

}  // namespace strata
