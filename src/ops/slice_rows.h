#pragma once
// Rows and columns of a CSR matrix (columns and rows of CSC) by slices.
#include "strata/ops.h"

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

/// Rows that follow each other, which share the matrix's arrays. `dim` is the dimension of the dense level.
Tensor neighbours(const Tensor& t, std::size_t dim, i64 begin, i64 count);

/// Any rows and columns, counted and then copied. `outer` and `inner` are the dimensions of the levels; the coordinates of elements are aligned.
Tensor rows_and_columns(const Tensor& t, const Slice& rows, std::size_t outer, const Slice& columns, std::size_t inner);

}  // namespace strata::slicing
