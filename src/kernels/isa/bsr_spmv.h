#pragma once
// Blocks times a vector.
#include "kernels/isa/vector.h"

namespace strata::kernels::STRATA_ISA {

// One block row times a vector. R rows of sums stay in registers; R and C are constants for the common block sizes.
template <int R, int C, bool ColumnMajor, class V, class P, class J>
static void bsr_spmv_fixed(i64 begin, i64 end, const P* pos, const J* crd, const V* values, const Dense<V>& d) {
  for (i64 b = begin; b < end; ++b) {
    V acc[R];
    for (int r = 0; r < R; ++r) acc[r] = 0;
    const i64 stop = pos[b + 1];
    for (i64 k = pos[b]; k < stop; ++k) {
      const V* block = values + k * (R * C);
      const V* x = d.x + static_cast<i64>(crd[k]) * C;
      if (d.stream) {
        for (int q = 0; q < R * C; q += 64 / static_cast<int>(sizeof(V))) prefetch_blocks(block + q);
        if (!(k & 15)) prefetch_blocks(crd + k);
      }
      for (int c = 0; c < C; ++c)
        for (int r = 0; r < R; ++r) acc[r] += (ColumnMajor ? block[c * R + r] : block[r * C + c]) * x[c];
    }
    for (int r = 0; r < R; ++r) finish(d.out + b * R + r, acc[r], d.alpha, d.beta);
  }
}

// Blocks of 2 x 2 and 3 x 3, row-major: a vector holds a whole block or one of its rows; several chains hide the
// latency of fma. They are passed by reference, as some are wider than the instruction set's registers; hence aligned
// (clang believes it of every reference).
template <class V> struct FourOf {
  typedef V type __attribute__((vector_size(4 * sizeof(V))));
  typedef V unaligned __attribute__((vector_size(4 * sizeof(V)), aligned(sizeof(V)), may_alias));
};
template <class V> using V4 = typename FourOf<V>::type;
/// sum += v times the four elements from p on.
template <class V> static inline void add_product(V4<V>& sum, const V* p, const V4<V>& v) {
  sum += *reinterpret_cast<const typename FourOf<V>::unaligned*>(p) * v;
}
/// Three elements; nothing behind them is read.
#if defined(__AVX2__)
static inline void load3(V4<double>& to, const double* p) {
  to = (V4<double>)_mm256_maskload_pd(p, _mm256_setr_epi64x(-1, -1, -1, 0));
}
static inline void load3(V4<float>& to, const float* p) {
  to = (V4<float>)_mm_maskload_ps(p, _mm_setr_epi32(-1, -1, -1, 0));
}
#else
template <class V> static inline void load3(V4<V>& to, const V* p) { to = V4<V>{p[0], p[1], p[2], V(0)}; }
#endif

template <class V, class P, class J> static void bsr_spmv_2x2(i64 begin, i64 end, const P* pos, const J* crd,
                                                              const V* values, const Dense<V>& d) {
  for (i64 b = begin; b < end; ++b) {
    V4<V> acc[4] = {};
    i64 k = pos[b];
    const i64 stop = pos[b + 1];
    const auto add = [&](V4<V>& sum, i64 at) {
      const V* x = d.x + 2 * static_cast<i64>(crd[at]);
      add_product(sum, values + 4 * at, V4<V>{x[0], x[1], x[0], x[1]});
    };
    for (; k + 4 <= stop; k += 4) {
      if (d.stream) {
        for (int q = 0; q < 16; q += 64 / static_cast<int>(sizeof(V))) prefetch_blocks(values + 4 * k + q);
        if (!(k & 12)) prefetch_blocks(crd + k);
      }
      for (int q = 0; q < 4; ++q) add(acc[q], k + q);
    }
    for (; k < stop; ++k) add(acc[0], k);
    const V4<V> sum = (acc[0] + acc[1]) + (acc[2] + acc[3]);
    finish(d.out + 2 * b, sum[0] + sum[1], d.alpha, d.beta);
    finish(d.out + 2 * b + 1, sum[2] + sum[3], d.alpha, d.beta);
  }
}

template <class V, class P, class J> static void bsr_spmv_3x3(i64 begin, i64 end, const P* pos, const J* crd,
                                                              const V* values, const Dense<V>& d) {
  for (i64 b = begin; b < end; ++b) {
    V4<V> acc[2][3] = {};
    i64 k = pos[b];
    const i64 stop = pos[b + 1];
    // The lane beside a row's three elements holds a neighbour's, whatever it is: it is never summed. The last row is
    // read from one element before, as nothing may be read behind it.
    const auto add = [&](V4<V>* sum, i64 at) {
      const V* block = values + 9 * at;
      V4<V> x;
      load3(x, d.x + 3 * static_cast<i64>(crd[at]));
      const V4<V> shifted = {x[3], x[0], x[1], x[2]};
      add_product(sum[0], block, x);
      add_product(sum[1], block + 3, x);
      add_product(sum[2], block + 5, shifted);
    };
    for (; k + 2 <= stop; k += 2) {
      if (d.stream) {
        for (int q = 0; q < 18; q += 64 / static_cast<int>(sizeof(V))) prefetch_blocks(values + 9 * k + q);
        if (!(k & 14)) prefetch_blocks(crd + k);
      }
      add(acc[0], k);
      add(acc[1], k + 1);
    }
    if (k < stop) add(acc[0], k);
    for (int r = 0; r < 3; ++r) acc[0][r] += acc[1][r];
    finish(d.out + 3 * b, acc[0][0][0] + acc[0][0][1] + acc[0][0][2], d.alpha, d.beta);
    finish(d.out + 3 * b + 1, acc[0][1][0] + acc[0][1][1] + acc[0][1][2], d.alpha, d.beta);
    finish(d.out + 3 * b + 2, acc[0][2][1] + acc[0][2][2] + acc[0][2][3], d.alpha, d.beta);
  }
}

// Wide blocks, row-major: R rows at a time, the dot products in vectors along the block's columns.
template <int R, class V, class P, class J>
static void bsr_spmv_wide(i64 begin, i64 end, const P* pos, const J* crd, const V* values, i64 br, i64 bc,
                          const Dense<V>& d) {
  constexpr int L = lanes<V>;
  for (i64 b = begin; b < end; ++b)
    for (i64 r0 = 0; r0 < br; r0 += R) {
      Vec<V> acc[R];
      for (int r = 0; r < R; ++r) acc[r] = Vec<V>{};
      for (i64 k = pos[b]; k < static_cast<i64>(pos[b + 1]); ++k) {
        const V* block = values + k * br * bc + r0 * bc;
        const V* x = d.x + static_cast<i64>(crd[k]) * bc;
        if (d.stream)
          for (i64 q = 0; q < R * bc; q += 64 / static_cast<i64>(sizeof(V))) prefetch_blocks(block + q);
        for (i64 c = 0; c < bc; c += L) {
          const Vec<V> xv = load(x + c);
          for (int r = 0; r < R; ++r) acc[r] += load(block + r * bc + c) * xv;
        }
      }
      for (int r = 0; r < R; ++r) finish(d.out + b * br + r0 + r, sum_lanes<V>(acc[r]), d.alpha, d.beta);
    }
}

/// False: nothing is done, as these blocks have no loops of their own.
template <class V, class P, class J>
static bool bsr_spmv(i64 begin, i64 end, const P* pos, const J* crd, const V* values, i64 br, i64 bc, bool column_major,
                     const Dense<V>& d) {
  constexpr int L = lanes<V>;
  if (!column_major && br == 2 && bc == 2) return bsr_spmv_2x2(begin, end, pos, crd, values, d), true;
  if (!column_major && br == 3 && bc == 3) return bsr_spmv_3x3(begin, end, pos, crd, values, d), true;
  // From a cache vectors along the rows win; from memory one pass over whole blocks does.
  const bool wide = !column_major && bc % L == 0 && br % 4 == 0;
  if (wide && !d.stream) return bsr_spmv_wide<4>(begin, end, pos, crd, values, br, bc, d), true;
#define STRATA_FIXED(R, C)                                                            \
  if (br == R && bc == C)                                                             \
  return column_major ? bsr_spmv_fixed<R, C, true>(begin, end, pos, crd, values, d)   \
                      : bsr_spmv_fixed<R, C, false>(begin, end, pos, crd, values, d), \
         true
  if (column_major) {
    STRATA_FIXED(2, 2);
    STRATA_FIXED(3, 3);
  }
  STRATA_FIXED(4, 4);
  STRATA_FIXED(6, 6);
  STRATA_FIXED(8, 8);
#undef STRATA_FIXED
  if (wide) return bsr_spmv_wide<4>(begin, end, pos, crd, values, br, bc, d), true;
  if (!column_major && bc % L == 0) return bsr_spmv_wide<1>(begin, end, pos, crd, values, br, bc, d), true;
  return false;
}

}  // namespace strata::kernels::STRATA_ISA
