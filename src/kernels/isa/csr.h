#pragma once
#include "kernels/isa/csr_gather.h"
#include "kernels/isa/csr_spmv.h"
#include "kernels/isa/csr_tiles.h"
#include "kernels/isa/long_rows.h"

namespace strata::kernels::STRATA_ISA {

// Elements under a mask cost little more than others. (See even_rows.h; without AVX2 0 to 25 % more.)
#if defined(__AVX2__)
inline constexpr bool cheap_masks = true;
#else
inline constexpr bool cheap_masks = false;
#endif

template <class V, class P, class C>
static void csr_vector(i64 begin, i64 end, const P* pos, const C* crd, const V* values, const Dense<V>& d) {
  if (d.scattered && d.second) csr_spmv<Reads::scattered_second>(begin, end, pos, crd, values, d);
  else if (d.scattered) csr_spmv<Reads::scattered>(begin, end, pos, crd, values, d);
#if defined(__AVX512F__)
  else if (d.gathers && d.stream) csr_gathered<true>(begin, end, pos, crd, values, d);
  else if (d.gathers) csr_gathered<false>(begin, end, pos, crd, values, d);
#endif
  else if (d.fours == singles) csr_spmv_singles(begin, end, pos, crd, values, d);
  else if (cheap_masks && d.fours > 0 && d.stream) csr_spmv_even<true>(begin, end, pos, crd, values, d);
  else if (cheap_masks && d.fours > 0) csr_spmv_even<false>(begin, end, pos, crd, values, d);
  else if (d.stream) csr_spmv<Reads::streamed>(begin, end, pos, crd, values, d);
  else csr_spmv<Reads::cached>(begin, end, pos, crd, values, d);
}

inline constexpr i64 very_long_row = 8192, row_piece = 512;

/// A long row, piece by piece as rows of their own, which are added up with more digits: its error does not grow with
/// its length.
template <class V, class P, class C>
static void csr_long_row(i64 row, const P* pos, const C* crd, const V* values, const Dense<V>& d) {
  constexpr i64 pieces = 64;
  P ends[pieces + 1];
  V sums[pieces];
  Dense<V> part = d;
  part.out = sums, part.alpha = 1, part.beta = 0;
  double sum = 0;
  for (i64 k = pos[row], stop = pos[row + 1]; k < stop;) {
    i64 n = 0;
    ends[0] = static_cast<P>(k);
    for (; n < pieces && k < stop; ++n) {
      k = k + row_piece < stop ? k + row_piece : stop;
      ends[n + 1] = static_cast<P>(k);
    }
    csr_vector(0, n, ends, crd, values, part);
    for (i64 half = pieces / 2; half > 0; half /= 2)
      for (i64 q = 0; q < half && q + half < n; ++q) sums[q] += sums[q + half];
    sum += static_cast<double>(sums[0]);
  }
  finish(d.out + row, static_cast<V>(sum), d.alpha, d.beta);
}

template <class V, class P, class C>
static void csr_vectors(i64 begin, i64 end, const P* pos, const C* crd, const V* values, const Dense<V>& d) {
  with_long_rows(
      begin, end, pos, very_long_row, [&](i64 from, i64 to) { csr_vector(from, to, pos, crd, values, d); },
      [&](i64 row) { csr_long_row(row, pos, crd, values, d); });
}

template <class V, class P, class C>
void csr(i64 begin, i64 end, const P* pos, const C* crd, const V* values, const Dense<V>& d) {
  if (is_vector(d)) csr_vectors(begin, end, pos, crd, values, d);
  else if (d.tile > 0) csr_tiled(begin, end, pos, crd, values, d);
  else csr_rows(begin, end, pos, crd, values, d);
}

}  // namespace strata::kernels::STRATA_ISA
