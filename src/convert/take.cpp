// The coordinates of one dimension in any order: a conversion that leaves elements out, moves the others, and repeats
// some.
#include <algorithm>
#include <numeric>
#include <vector>

#include "convert/convert_elements.h"
#include "convert/take_places.h"
#include "convert/take_rows.h"
#include "format/recognise.h"
#include "tensor/source_changed.h"

namespace strata {

using namespace slicing;

namespace {

/// Sorted COO whose columns are taken, and which has not far fewer elements than rows: as rows they go by a table.
bool goes_by_rows(const Tensor& t, std::size_t dim) {
  const Format& f = t.format();
  const auto dims = coordinates_of(f);
  return dims && dim == static_cast<std::size_t>(dims->inner) && f.is_unique() && f.level(0).ordered &&
         f.level(1).ordered && !t.type().shared_value &&
         t.shape()[static_cast<std::size_t>(dims->outer)] <= 1024 + 4 * t.nse();
}

/// Each element once for each of its places.
class Repeated {
 public:
  Repeated(const NewPlaces& places, std::size_t dim, int rank, std::size_t width, const conversion::Sink& sink)
      : places_(places), dim_(dim), width_(width), sink_(sink), columns_(static_cast<std::size_t>(rank)) {}

  void add(const conversion::ElementChunk& chunk) {
    for (int k = 0; k < chunk.n; ++k)
      for (i64 place : places_.of(chunk.dims[dim_][k])) {
        for (std::size_t d = 0; d < columns_.size(); ++d) columns_[d].push_back(d == dim_ ? place : chunk.dims[d][k]);
        const char* value = chunk.values + static_cast<std::size_t>(k) * width_;
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

  const NewPlaces& places_;
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
  if (is_listed_along(t, dim) && holds(t.part().levels[0].crd.dtype, static_cast<i64>(coordinates.size())))
    return take_listed(t, dim, coordinates);
  if (goes_by_rows(t, dim)) {
    const int order[] = {1 - static_cast<int>(dim), static_cast<int>(dim)};
    const Tensor rows = convert(t, conversion::levels_in_order(order, true), {.zeros = Zeros::keep});
    return convert(taken(rows, dim, coordinates), t.format(), {.zeros = Zeros::keep});
  }
  Shape shape = t.shape();
  const NewPlaces places(coordinates, shape[dim], t.nse());
  std::vector<int> order(shape.size());
  std::iota(order.begin(), order.end(), 0);
  std::vector<LevelRange> box;
  for (const i64 extent : shape) box.push_back({0, extent});
  const auto [least, most] = std::ranges::minmax_element(coordinates);
  box[dim] = coordinates.empty() ? LevelRange{} : LevelRange{*least, *most - *least + 1};
  shape[dim] = static_cast<i64>(coordinates.size());
  const conversion::ElementSource stored = conversion::stored_elements(t, Zeros::automatic, std::move(box));
  const auto chosen = [&](const conversion::Sink& sink) {
    Repeated repeated(places, dim, t.rank(), size_of(t.dtype()), sink);
    stored.emit([&](const conversion::ElementChunk& chunk) { repeated.add(chunk); });
  };
  return conversion::assemble({chosen}, t.dtype(), t.fill(), shape, format_of_part(t.format(), order),
                              {.zeros = Zeros::keep});
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
