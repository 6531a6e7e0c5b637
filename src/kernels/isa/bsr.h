#pragma once
// Blocks where loops by hand are faster than generated ones: of 3 x 3 times a vector, high ones times few columns. All
// are row-major, and none overhangs.
#include "kernels/isa/places.h"

namespace strata::kernels::STRATA_ISA {

#if defined(__AVX2__)
// Blocks of 3 x 3: a vector of four holds one of their rows; two chains hide the latency of fma. Vectors are passed by
// reference, as some are wider than the instruction set's registers; hence aligned (clang believes it of every
// reference).
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
static inline void load3(V4<double>& to, const double* p) {
  to = (V4<double>)_mm256_maskload_pd(p, _mm256_setr_epi64x(-1, -1, -1, 0));
}
static inline void load3(V4<float>& to, const float* p) {
  to = (V4<float>)_mm_maskload_ps(p, _mm_setr_epi32(-1, -1, -1, 0));
}

template <class V, class P, class J>
void bsr_3x3_vector(i64 begin, i64 end, const P* pos, const J* crd, const V* values, const Dense<V>& d) {
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
#endif

#if defined(__AVX512F__)
/// Eight rows of a block at a time, as many sums that wait for their multiply-adds side by side. What the core's caches
/// do not hold of A is asked for early: the same rows of a block at least 2 KB ahead, for a prefetcher stops where the
/// next block's rows lie elsewhere.
template <template <int, class> class Place, class V, class P, class J>
static void bsr_eight_rows(i64 begin, i64 end, const P* pos, const J* crd, const V* values, i64 br, i64 bc,
                           const Dense<V>& d) {
  constexpr int R = 8;
  constexpr i64 line = 64 / static_cast<i64>(sizeof(V)), least_ahead = 2048 / static_cast<i64>(sizeof(V));
  const i64 size = br * bc, ahead = (least_ahead + size - 1) / size * size, ldx = d.ldx, ldo = d.ldo;
  const bool ask = d.stream || d.beyond;
  const Place<1, V> place(d.x, d.columns);
  const Vec<V> alpha = splat(d.alpha);
  const V beta = d.beta;
  for (i64 b = begin; b < end; ++b)
    for (i64 r0 = 0; r0 < br; r0 += R) {
      Vec<V> acc[R];
#pragma GCC unroll 8
      for (int r = 0; r < R; ++r) acc[r] = Vec<V>{};
      for (i64 k = pos[b]; k < static_cast<i64>(pos[b + 1]); ++k) {
        const V *block = values + k * size + r0 * bc, *row = d.x + static_cast<i64>(crd[k]) * bc * ldx;
        if (ask)
          for (i64 q = 0; q < R * bc; q += line) prefetch(block + q + ahead);
        for (i64 c = 0; c < bc; ++c, row += ldx) {
          const Vec<V> x = held<V>(place.read(row, 0));
#pragma GCC unroll 8
          for (int r = 0; r < R; ++r) acc[r] += splat(block[r * bc + c]) * x;
        }
      }
      V* out = d.out + (b * br + r0) * ldo;
#pragma GCC unroll 8
      for (int r = 0; r < R; ++r, out += ldo) {
        Vec<V> sum = alpha * acc[r];
        if (beta != V(0)) sum += splat(beta) * place.read(out, 0);
        place.write(out, 0, sum);
      }
    }
}

template <class V, class P, class J>
void bsr_few_columns(i64 begin, i64 end, const P* pos, const J* crd, const V* values, i64 br, i64 bc,
                     const Dense<V>& d) {
  if (d.columns == lanes<V>) bsr_eight_rows<ByVectors>(begin, end, pos, crd, values, br, bc, d);
  else bsr_eight_rows<Tail>(begin, end, pos, crd, values, br, bc, d);
}
#endif

}  // namespace strata::kernels::STRATA_ISA
