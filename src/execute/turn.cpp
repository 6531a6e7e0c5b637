#include "execute/turn.h"

#include <algorithm>
#include <cstdlib>

#include "backend/backend.h"
#include "base/checked.h"

namespace strata::execution {
namespace {

using i64 = std::int64_t;

/// A square of 16-byte rows, transposed in registers: from[c * step] .. becomes to[r * width] .. (2.5-4x of single
/// elements, measured).
template <class T> struct Square {
  static constexpr i64 side = 1;
  static void turn(T* to, i64, const T* from, i64) { *to = *from; }
};
template <> struct Square<std::uint32_t> {
  static constexpr i64 side = 4;
  using Row [[gnu::vector_size(16), gnu::aligned(4), gnu::may_alias]] = std::uint32_t;
  static void turn(std::uint32_t* to, i64 width, const std::uint32_t* from, i64 step) {
    const auto in = [&](i64 c) { return *reinterpret_cast<const Row*>(from + c * step); };
    const auto out = [&](i64 r) -> Row& { return *reinterpret_cast<Row*>(to + r * width); };
    const Row a = in(0), b = in(1), c = in(2), d = in(3);
    const Row ab = __builtin_shufflevector(a, b, 0, 4, 1, 5), cd = __builtin_shufflevector(c, d, 0, 4, 1, 5);
    const Row ab2 = __builtin_shufflevector(a, b, 2, 6, 3, 7), cd2 = __builtin_shufflevector(c, d, 2, 6, 3, 7);
    out(0) = __builtin_shufflevector(ab, cd, 0, 1, 4, 5);
    out(1) = __builtin_shufflevector(ab, cd, 2, 3, 6, 7);
    out(2) = __builtin_shufflevector(ab2, cd2, 0, 1, 4, 5);
    out(3) = __builtin_shufflevector(ab2, cd2, 2, 3, 6, 7);
  }
};
template <> struct Square<std::uint64_t> {
  static constexpr i64 side = 2;
  using Row [[gnu::vector_size(16), gnu::aligned(8), gnu::may_alias]] = std::uint64_t;
  static void turn(std::uint64_t* to, i64 width, const std::uint64_t* from, i64 step) {
    const Row a = *reinterpret_cast<const Row*>(from), b = *reinterpret_cast<const Row*>(from + step);
    *reinterpret_cast<Row*>(to) = __builtin_shufflevector(a, b, 0, 2);
    *reinterpret_cast<Row*>(to + width) = __builtin_shufflevector(a, b, 1, 3);
  }
};

/// A matrix whose rows lie side by side in `from`, `from_column` apart, and its columns in `to`, `to_row` apart.
struct Strides {
  i64 to_row, from_row, from_column;
};

/// Rows first .. end and all columns. A line of `to` is written whole before the next one is touched: rows that are a
/// power of two apart fall on the same few places of a cache, and are gone when they are needed again.
template <class T>
void turn_rows(T* to, const T* from, const Strides& s, i64 first, i64 end, i64 columns) {
  constexpr i64 side = Square<T>::side, high = 16, wide = std::max<i64>(64 / sizeof(T), side);
  for (i64 row = first; row < end; row += high)
    for (i64 column = 0; column < columns; column += wide) {
      const i64 below = std::min(row + high, end), right = std::min(column + wide, columns);
      i64 r = row;
      if (s.from_row == 1)
        for (; r + side <= below && column + wide <= columns; r += side)
          for (i64 c = column; c < right; c += side)
            Square<T>::turn(to + r * s.to_row + c, s.to_row, from + r + c * s.from_column, s.from_column);
      for (; r < below; ++r)
        for (i64 c = column; c < right; ++c) to[r * s.to_row + c] = from[r * s.from_row + c * s.from_column];
    }
}

/// Dimensions that follow one another evenly in both become one: blocks of rows are rows.
void merge_dimensions(DenseView& a, DenseView& b) {
  int rank = 0;
  for (int d = 0; d < a.rank; ++d) {
    const i64 n = a.shape[d];
    const int before = rank - 1;
    if (rank > 0 && a.strides[before] == a.strides[d] * n && b.strides[before] == b.strides[d] * n) {
      a.shape[before] *= n;
      a.strides[before] = a.strides[d];
      b.strides[before] = b.strides[d];
    } else {
      a.shape[rank] = n;
      a.strides[rank] = a.strides[d];
      b.strides[rank++] = b.strides[d];
    }
  }
  a.rank = b.rank = rank;
  std::copy_n(a.shape, rank, b.shape);
}

/// `row`: the dimension along which `from` is closest together; `column`: along which `to` is contiguous.
template <class T>
void turn_as(const DenseView& to, const DenseView& from, int row, int column) {
  constexpr i64 band = 64;  // rows of a task
  const i64 rows = to.shape[row], columns = to.shape[column], bands = ceil_div(rows, band);
  const Strides strides{to.strides[row], from.strides[row], from.strides[column]};
  i64 matrices = 1;
  for (int d = 0; d < to.rank; ++d)
    if (d != row && d != column) matrices *= to.shape[d];
  const auto task = [&](i64 k) {
    i64 rest = k / bands, x = 0, y = 0;
    for (int d = to.rank - 1; d >= 0; --d) {
      if (d == row || d == column) continue;
      x += rest % to.shape[d] * to.strides[d];
      y += rest % to.shape[d] * from.strides[d];
      rest /= to.shape[d];
    }
    const i64 first = k % bands * band;
    turn_rows(reinterpret_cast<T*>(to.data) + x, reinterpret_cast<const T*>(from.data) + y, strides, first,
              std::min(rows, first + band), columns);
  };
  const i64 tasks = matrices * bands;
  if (to.size() < 1 << 15)
    for (i64 k = 0; k < tasks; ++k) task(k);
  else in_chunks(tasks, task);
}

}  // namespace

bool turn(const DenseView& given_to, const DenseView& given_from) {
  if (given_to.size() == 0) return false;
  DenseView to = given_to, from = given_from;
  merge_dimensions(to, from);
  int row = -1, column = -1;
  for (int d = 0; d < to.rank; ++d)
    if (to.shape[d] > 1 && to.strides[d] == 1) column = d;
  for (int d = 0; d < to.rank; ++d)
    if (d != column && to.shape[d] > 1 && from.strides[d] != 0 &&
        (row < 0 || std::abs(from.strides[d]) < std::abs(from.strides[row])))
      row = d;
  if (row < 0 || column < 0 || std::abs(from.strides[row]) >= std::abs(from.strides[column])) return false;
  switch (size_of(to.dtype)) {
    case 1: turn_as<std::uint8_t>(to, from, row, column); break;
    case 2: turn_as<std::uint16_t>(to, from, row, column); break;
    case 4: turn_as<std::uint32_t>(to, from, row, column); break;
    case 8: turn_as<std::uint64_t>(to, from, row, column); break;
    default: return false;
  }
  return true;
}

}  // namespace strata::execution
