// One pass over the storage: each stored element adds one to the cell it lies in.
#include <algorithm>

#include "base/checked.h"
#include "strata/draw.h"
#include "tensor/is_fill.h"
#include "tensor/part_view.h"
#include "tensor/values.h"

namespace strata {
namespace {

constexpr std::int64_t chunk = 4096;  ///< more than a piece of a walk has
constexpr std::int64_t exact_division = std::int64_t{1}
                                        << 52;  ///< a double quotient of less never rounds up to the next cell

/// out[k] = in[k] / cell.
void divide(const std::int64_t* in, std::int64_t n, std::int64_t cell, std::int64_t extent, std::int64_t* out) {
  if (cell == 1) std::copy_n(in, n, out);
  else if (extent < exact_division) {
    const auto by = static_cast<double>(cell);
    for (std::int64_t k = 0; k < n; ++k) out[k] = static_cast<std::int64_t>(static_cast<double>(in[k]) / by);
  } else {
    for (std::int64_t k = 0; k < n; ++k) out[k] = in[k] / cell;
  }
}

/// Which of the slots hold more than the fill: their numbers within the chunk.
template <class T>
int keep(const IsFill<T>& is_fill, const char* values, const std::int64_t* slots, int n, std::int32_t* kept) {
  int count = 0;
  for (int k = 0; k < n; ++k) {
    kept[count] = k;
    count += !is_fill(load_as<T>(values + slots[k] * static_cast<std::int64_t>(sizeof(T))));
  }
  return count;
}

class Counter {
 public:
  Counter(Density& d, const Tensor& t) : d_(d), shape_(t.shape()), type_(t.type()) {
    std::int64_t stride = 1;
    strides_.resize(shape_.size());
    for (std::size_t i = shape_.size(); i-- > 0; stride *= d.bins[i]) strides_[i] = stride;
  }

  void add(const Part& part) {
    // A format that can hold fill-in tells its elements by their values, as a conversion from it does.
    if (!part.format.can_hold_fill()) return walk(part, [](const SlotChunk&, std::int32_t*) { return -1; });
    const char* values = static_cast<const char*>(part.values.data);
    with_width(size_of(type_.dtype), [&]<class T>(T) {
      const IsFill<T> is_fill(type_.fill);
      walk(part, [&](const SlotChunk& c, std::int32_t* kept) { return keep<T>(is_fill, values, c.slot, c.n, kept); });
    });
  }

 private:
  /// `choose` lists which slots of a chunk count; -1: all.
  template <class F> void walk(const Part& part, F&& choose) {
    std::vector<std::int64_t> place(chunk), bin(chunk);
    std::vector<std::int32_t> kept(chunk);
    walk_slots(part, shape_, [&](const SlotChunk& c) {
      std::fill_n(place.begin(), c.n, 0);
      for (std::size_t i = 0; i < shape_.size(); ++i) {
        divide(c.dims[i], c.n, d_.cell[i], shape_[i], bin.data());
        for (int k = 0; k < c.n; ++k)
          place[static_cast<std::size_t>(k)] += bin[static_cast<std::size_t>(k)] * strides_[i];
      }
      const int n = choose(c, kept.data());
      if (n < 0)
        for (int k = 0; k < c.n; ++k) ++d_.counts[static_cast<std::size_t>(place[static_cast<std::size_t>(k)])];
      else
        for (int k = 0; k < n; ++k)
          ++d_.counts[static_cast<std::size_t>(place[static_cast<std::size_t>(kept[static_cast<std::size_t>(k)])])];
      d_.stored += n < 0 ? c.n : n;
      d_.fill_in += n < 0 ? 0 : c.n - n;
    });
  }

  Density& d_;
  const Shape& shape_;
  const TensorType& type_;
  std::vector<std::int64_t> strides_;
};

std::int64_t cells(std::int64_t extent, std::int64_t cell) { return extent / cell + (extent % cell != 0); }

}  // namespace

Density density(const Tensor& t, int size) {
  const std::int64_t most = std::max(size, 1);
  Density d;
  std::int64_t longest = 1;
  for (const std::int64_t n : t.shape()) longest = std::max(longest, n);
  const std::int64_t square = cells(longest, most);
  for (const std::int64_t n : t.shape()) {
    // Of a short dimension at least an eighth of the picture, or all of it.
    const std::int64_t least = std::max<std::int64_t>(most / 8, 1);
    d.cell.push_back(cells(n, square) >= least ? square : std::max<std::int64_t>(cells(n, least), 1));
    d.bins.push_back(cells(n, d.cell.back()));
  }
  const auto total = checked_product(d.bins);
  if (!total || *total > (std::int64_t{1} << 28))
    throw TensorError({.what = "a picture with too many cells",
                       .expected = "at most 268 435 456",
                       .got = std::to_string(most) + " along a dimension, of " + std::to_string(t.rank()),
                       .fix = "give a smaller size"});
  d.counts.assign(static_cast<std::size_t>(*total), 0);
  Counter counter(d, t);
  for (int k = 0; k < t.num_parts(); ++k) counter.add(t.part(k));
  return d;
}

}  // namespace strata
