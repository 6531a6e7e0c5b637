// Parts of a tensor by slices: a conversion that leaves elements out, and moves the others.
#include <algorithm>
#include <cstring>
#include <numeric>

#include "convert/convert_elements.h"
#include "convert/slice_rows.h"
#include "convert/take_rows.h"
#include "format/recognise.h"
#include "tensor/source_changed.h"

namespace strata {

using namespace slicing;

namespace {

void check(const Shape& shape, std::span<const Slice> slices) {
  if (slices.size() != shape.size())
    throw IndexError({.what = "a slice needs one entry per dimension",
                      .expected = std::to_string(shape.size()),
                      .got = std::to_string(slices.size())});
  for (std::size_t d = 0; d < slices.size(); ++d) {
    const Slice& s = slices[d];
    const auto inside = [&](Int128 c) { return c >= 0 && c < shape[d]; };
    const Int128 last = static_cast<Int128>(s.start) + (static_cast<Int128>(s.count) - 1) * s.step;
    if (s.count < 0 || s.step == 0 || (!s.keeps && s.count != 1) || (s.count > 0 && !(inside(s.start) && inside(last))))
      throw IndexError(
          {.what = std::string(s.keeps ? "a slice" : "a coordinate") + " leaves dimension " + std::to_string(d),
           .expected = shape[d] > 0 ? "coordinates from 0 to " + std::to_string(shape[d] - 1)
                                    : "none: the dimension has extent 0",
           .got = s.keeps ? std::to_string(s.count) + " from " + std::to_string(s.start) + " on, in steps of " +
                                std::to_string(s.step)
                          : std::to_string(s.start)});
  }
}

/// What slices take of the elements, by their new coordinates.
class Taken {
 public:
  Taken(std::span<const Slice> slices, std::size_t width) : slices_(slices), width_(width), columns_(slices.size()) {}

  conversion::ElementChunk of(const conversion::ElementChunk& chunk) {
    at_.resize(static_cast<std::size_t>(chunk.n));
    std::iota(at_.begin(), at_.end(), 0);
    for (std::size_t d = 0; d < slices_.size(); ++d)
      std::erase_if(at_, [&](int k) { return place_of(slices_[d], chunk.dims[d][k]) < 0; });
    dims_.clear();
    for (std::size_t d = 0; d < slices_.size(); ++d) {
      if (!slices_[d].keeps) continue;
      columns_[d].clear();
      for (int k : at_) columns_[d].push_back(place_of(slices_[d], chunk.dims[d][k]));
      dims_.push_back(columns_[d].data());
    }
    values_.resize(at_.size() * width_);
    for (std::size_t k = 0; k < at_.size(); ++k)
      std::memcpy(values_.data() + k * width_, chunk.values + static_cast<std::size_t>(at_[k]) * width_, width_);
    return {static_cast<int>(at_.size()), dims_.data(), values_.data()};
  }

 private:
  std::span<const Slice> slices_;
  std::size_t width_;
  std::vector<int> at_;  ///< places in the chunk
  std::vector<std::vector<i64>> columns_;
  std::vector<const i64*> dims_;
  std::vector<char> values_;
};

/// The coordinates that slices may take.
std::vector<LevelRange> box_of(std::span<const Slice> slices) {
  std::vector<LevelRange> box;
  for (const Slice& s : slices) {
    const i64 last = s.start + std::max<i64>(s.count - 1, 0) * s.step, least = std::min(s.start, last);
    box.push_back({least, s.count == 0 ? 0 : std::max(s.start, last) - least + 1});
  }
  return box;
}

}  // namespace

Format slicing::format_of_part(const Format& f, std::span<const int> order) {
  if (static_cast<int>(order.size()) == f.rank() && conversion::takes_any(f)) return f;
  return f.is_all_dense() ? conversion::dense_format(static_cast<int>(order.size()))
                          : conversion::levels_in_order(order, false);
}

Tensor slicing::elements_of(const Tensor& t, std::span<const Slice> slices, const Format& format, Zeros zeros) {
  Shape shape;
  for (const Slice& s : slices)
    if (s.keeps) shape.push_back(s.count);
  const conversion::ElementSource stored = conversion::stored_elements(t, zeros, box_of(slices));
  const auto kept = [&](const conversion::Sink& sink) {
    Taken taken(slices, size_of(t.dtype()));
    stored.emit([&](const conversion::ElementChunk& chunk) { sink(taken.of(chunk)); });
  };
  return conversion::assemble({kept}, t.dtype(), t.fill(), shape, format, {.zeros = Zeros::keep});
}

static Tensor sliced(const Tensor& t, std::span<const Slice> slices) {
  Tensor from = t;
  std::vector<Slice> left(slices.begin(), slices.end());
  if (const auto dims = rows_of(t.format(), LevelKind::compressed)) {
    const auto outer = static_cast<std::size_t>(dims->outer), inner = static_cast<std::size_t>(dims->inner);
    Slice &rows = left[outer], &columns = left[inner];
    if (rows.step == 1 && rows.count < t.shape()[outer]) {
      from = neighbours(t, outer, rows.start, rows.count);
      rows.start = 0;
    }
    if (rows.keeps && is_aligned(from.part().levels[1].crd) &&
        !(is_whole(rows, from.shape()[outer]) && is_whole(columns, from.shape()[inner]))) {
      from = rows_and_columns(from, rows, outer, columns, inner);
      if (columns.keeps) return from;
      rows = {.start = 0, .count = rows.count, .step = 1, .keeps = true};
      columns = {.start = 0, .count = 1, .step = 1, .keeps = false};
    }
  }
  for (std::size_t d = 0; d < left.size(); ++d)
    if (left[d].step == 1 && left[d].count < from.shape()[d] && is_listed_along(from, d)) {
      from = listed_neighbours(from, d, left[d].start, left[d].count);
      left[d].start = 0;
    }
  bool whole = true;
  std::vector<int> order;
  for (std::size_t d = 0; d < left.size(); ++d) {
    whole = whole && is_whole(left[d], from.shape()[d]);
    if (left[d].keeps) order.push_back(static_cast<int>(order.size()));
  }
  return whole ? from : elements_of(from, left, format_of_part(t.format(), order), Zeros::automatic);
}

Tensor slice(const Tensor& t, std::span<const Slice> slices) {
  check(t.shape(), slices);
  return while_it_changes(t, [&](const Tensor& source) { return sliced(source, slices); });
}

}  // namespace strata
