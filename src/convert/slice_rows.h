#pragma once
// What slices and lists of coordinates share: formats of parts; rows and columns of a CSR matrix (columns and rows of
// CSC).
#include <algorithm>
#include <cstring>

#include "backend/pool.h"
#include "base/share.h"
#include "strata/convert.h"

namespace strata::slicing {

using i64 = std::int64_t;

inline bool is_whole(const Slice& s, i64 extent) { return s.keeps && s.start == 0 && s.step == 1 && s.count == extent; }

/// Where a coordinate goes, or -1: it is not taken.
inline i64 place_of(const Slice& s, i64 coordinate) {
  const i64 from_start = coordinate - s.start, at = from_start / s.step;
  return from_start % s.step != 0 || at < 0 || at >= s.count ? -1 : at;
}

/// Borrowed memory may begin anywhere.
inline bool is_aligned(const Buffer& b) { return reinterpret_cast<std::uintptr_t>(b.data) % size_of(b.dtype) == 0; }

/// One value: the widths of most are known to the compiler.
inline void copy_one(char* to, const char* from, std::size_t width) {
  if (width == 8) std::memcpy(to, from, 8);
  else if (width == 4) std::memcpy(to, from, 4);
  else std::memcpy(to, from, width);
}

/// f(row) for each of so many rows, by all threads.
template <class F> void each_row(i64 rows, const F& f) {
  const i64 chunks = std::clamp<i64>(rows / 1024, 1, 256);
  parallel_for(chunks, [&](i64 c) {
    for (i64 k = begin_of_share(rows, c, chunks), end = begin_of_share(rows, c + 1, chunks); k < end; ++k) f(k);
  });
}

/// The format of a part whose dimensions are these of the tensor's, numbered anew: the tensor's own where all are there
/// and it can hold any pattern, else a compressed level per dimension (of dense tensors dense ones).
Format format_of_part(const Format& f, std::span<const int> order);

/// What slices take of the stored elements, in another format. They may reach beyond the tensor.
Tensor elements_of(const Tensor& t, std::span<const Slice> slices, const Format& format, Zeros zeros);

/// Rows that follow each other, which share the matrix's arrays. `dim` is the dimension of the dense level.
Tensor neighbours(const Tensor& t, std::size_t dim, i64 begin, i64 count);

/// Any rows and columns, counted and then copied. `outer` and `inner` are the dimensions of the levels; the coordinates
/// of elements are aligned.
Tensor rows_and_columns(const Tensor& t, const Slice& rows, std::size_t outer, const Slice& columns, std::size_t inner);

}  // namespace strata::slicing
