#pragma once
// CSR times a vector by the processor's own gathers, a whole vector at a time: where these are fast (see fast_gathers).
#include "kernels/isa/vector.h"

namespace strata::kernels::STRATA_ISA {

#if defined(__AVX512F__) && defined(__AVX512VL__) && defined(__AVX512BW__)

/// Ones in the first n bits; n >= 0, bits beyond the mask's own are dropped.
static inline u32 first_bits(i64 n) { return n < 16 ? (1u << n) - 1 : 0xffff; }

static inline float sum_of(__m256 s) {
  const __m128 t = __builtin_shufflevector(s, s, 0, 1, 2, 3) + __builtin_shufflevector(s, s, 4, 5, 6, 7);
  return (t[0] + t[2]) + (t[1] + t[3]);
}
static inline float sum_of(__m512 s) {
  return sum_of(__builtin_shufflevector(s, s, 0, 1, 2, 3, 4, 5, 6, 7) +
                __builtin_shufflevector(s, s, 8, 9, 10, 11, 12, 13, 14, 15));
}
static inline double sum_of(__m512d s) {
  const __m256d t = __builtin_shufflevector(s, s, 0, 1, 2, 3) + __builtin_shufflevector(s, s, 4, 5, 6, 7);
  return (t[0] + t[2]) + (t[1] + t[3]);
}

// The sums of four vectors, each in the same order as sum_of: together they take half as long.
static inline __m128 sums_of(__m512 a, __m512 b, __m512 c, __m512 d) {
#define STRATA_HALVES(x, y)                                                                \
  (__builtin_shufflevector(x, y, 0, 1, 2, 3, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21, 22, 23) + \
   __builtin_shufflevector(x, y, 8, 9, 10, 11, 12, 13, 14, 15, 24, 25, 26, 27, 28, 29, 30, 31))
  const __m512 ab = STRATA_HALVES(a, b), cd = STRATA_HALVES(c, d);
#undef STRATA_HALVES
  __m512 s = __builtin_shufflevector(ab, cd, 0, 1, 2, 3, 8, 9, 10, 11, 16, 17, 18, 19, 24, 25, 26, 27) +
             __builtin_shufflevector(ab, cd, 4, 5, 6, 7, 12, 13, 14, 15, 20, 21, 22, 23, 28, 29, 30, 31);
  s = s + __builtin_shufflevector(s, s, 2, 3, 0, 1, 6, 7, 4, 5, 10, 11, 8, 9, 14, 15, 12, 13);
  s = s + __builtin_shufflevector(s, s, 1, 0, 3, 2, 5, 4, 7, 6, 9, 8, 11, 10, 13, 12, 15, 14);
  return __builtin_shufflevector(s, s, 0, 4, 8, 12);
}
static inline __m128 sums_of(__m256 a, __m256 b, __m256 c, __m256 d) {
  const __m256 ab = __builtin_shufflevector(a, b, 0, 1, 2, 3, 8, 9, 10, 11) +
                    __builtin_shufflevector(a, b, 4, 5, 6, 7, 12, 13, 14, 15);
  const __m256 cd = __builtin_shufflevector(c, d, 0, 1, 2, 3, 8, 9, 10, 11) +
                    __builtin_shufflevector(c, d, 4, 5, 6, 7, 12, 13, 14, 15);
  __m256 s = __builtin_shufflevector(ab, cd, 0, 1, 8, 9, 4, 5, 12, 13) +
             __builtin_shufflevector(ab, cd, 2, 3, 10, 11, 6, 7, 14, 15);
  s = __builtin_shufflevector(s, s, 0, 2, 0, 2, 4, 6, 4, 6) + __builtin_shufflevector(s, s, 1, 3, 1, 3, 5, 7, 5, 7);
  return __builtin_shufflevector(s, s, 0, 4, 1, 5);
}
static inline __m256d sums_of(__m512d a, __m512d b, __m512d c, __m512d d) {
  const __m512d ab = __builtin_shufflevector(a, b, 0, 1, 2, 3, 8, 9, 10, 11) +
                     __builtin_shufflevector(a, b, 4, 5, 6, 7, 12, 13, 14, 15);
  const __m512d cd = __builtin_shufflevector(c, d, 0, 1, 2, 3, 8, 9, 10, 11) +
                     __builtin_shufflevector(c, d, 4, 5, 6, 7, 12, 13, 14, 15);
  __m512d s = __builtin_shufflevector(ab, cd, 0, 1, 4, 5, 8, 9, 12, 13) +
              __builtin_shufflevector(ab, cd, 2, 3, 6, 7, 10, 11, 14, 15);
  s = s + __builtin_shufflevector(s, s, 1, 0, 3, 2, 5, 4, 7, 6);
  return __builtin_shufflevector(s, s, 0, 2, 4, 6);
}

// Columns of the elements that `m` names, and what x holds there: none of the others is read.
static inline __m256i columns_where(__mmask8 m, const i32* crd) { return _mm256_maskz_loadu_epi32(m, crd); }
static inline __m256i columns_where(__mmask8 m, const u16* crd) {
  return _mm256_maskz_cvtepu16_epi32(m, _mm_maskz_loadu_epi16(m, crd));
}
static inline __m256i columns_where(__mmask8 m, const u8* crd) {
  return _mm256_maskz_cvtepu8_epi32(m, _mm_maskz_loadu_epi8(m, crd));
}
static inline __m512i columns_where(__mmask8 m, const i64* crd) { return _mm512_maskz_loadu_epi64(m, crd); }
static inline __m512i columns_where(__mmask16 m, const i32* crd) { return _mm512_maskz_loadu_epi32(m, crd); }
static inline __m512i columns_where(__mmask16 m, const u16* crd) {
  return _mm512_maskz_cvtepu16_epi32(m, _mm256_maskz_loadu_epi16(m, crd));
}
static inline __m512i columns_where(__mmask16 m, const u8* crd) {
  return _mm512_maskz_cvtepu8_epi32(m, _mm_maskz_loadu_epi8(m, crd));
}

static inline __m256 gathered(__mmask8 m, __m256i c, const float* x) {
  return _mm256_mmask_i32gather_ps(_mm256_setzero_ps(), m, c, x, 4);
}
static inline __m512d gathered(__mmask8 m, __m256i c, const double* x) {
  return _mm512_mask_i32gather_pd(_mm512_setzero_pd(), m, c, x, 8);
}
static inline __m512 gathered(__mmask16 m, __m512i c, const float* x) {
  return _mm512_mask_i32gather_ps(_mm512_setzero_ps(), m, c, x, 4);
}
static inline __m512d gathered(__mmask8 m, __m512i c, const double* x) {
  return _mm512_mask_i64gather_pd(_mm512_setzero_pd(), m, c, x, 8);
}
static inline __m256 gathered(__mmask8 m, __m512i c, const float* x) {
  return _mm512_mask_i64gather_ps(_mm256_setzero_ps(), m, c, x, 4);
}

template <class C> static inline void add_where(u32 m, __m512d& s, const C* crd, const double* v, const double* x) {
  const auto k = static_cast<__mmask8>(m);
  s = _mm512_fmadd_pd(_mm512_maskz_loadu_pd(k, v), gathered(k, columns_where(k, crd), x), s);
}
template <class C> static inline void add_where(u32 m, __m256& s, const C* crd, const float* v, const float* x) {
  const auto k = static_cast<__mmask8>(m);
  s = _mm256_fmadd_ps(_mm256_maskz_loadu_ps(k, v), gathered(k, columns_where(k, crd), x), s);
}
template <class C> static inline void add_where(u32 m, __m512& s, const C* crd, const float* v, const float* x) {
  const auto k = static_cast<__mmask16>(m);
  s = _mm512_fmadd_ps(_mm512_maskz_loadu_ps(k, v), gathered(k, columns_where(k, crd), x), s);
}

// A row's length is what a core cannot guess: each vector goes under a mask, the last one as the others, by add(mask,
// sums, first element); four rows are added up together. Element q of a row goes to sum q % W.
template <i64 W, class Sums, class V, class P, class Add>
static inline void rows_under_masks(i64 begin, i64 end, const P* pos, const Dense<V>& d, const Add& add) {
  i64 k = begin < end ? static_cast<i64>(pos[begin]) : 0, i = begin;
  const auto row = [&](i64 stop) __attribute__((always_inline)) {
    Sums sums{};
    for (; k < stop; k += W) add(first_bits(stop - k), sums, k);
    k = stop;
    return sums;
  };
  if (d.alpha == V(1) && d.beta == V(0))
    for (; i + 4 <= end; i += 4) {
      const Sums a = row(pos[i + 1]), b = row(pos[i + 2]), c = row(pos[i + 3]), e = row(pos[i + 4]);
      const auto sums = sums_of(a, b, c, e);
      __builtin_memcpy(d.out + i, &sums, sizeof sums);
    }
  for (; i < end; ++i) finish(d.out + i, sum_of(row(pos[i + 1])), d.alpha, d.beta);
}

template <bool Streamed, i64 W, class Sums, class V, class P, class C>
static void gathered_rows(i64 begin, i64 end, const P* pos, const C* crd, const V* values, const Dense<V>& d) {
  rows_under_masks<W, Sums>(begin, end, pos, d, [&](u32 mask, Sums& sums, i64 k) __attribute__((always_inline)) {
    if constexpr (Streamed) prefetch_stream(values + k), prefetch_stream(crd + k);
    add_where(mask, sums, crd + k, values + k, d.x);
  });
}

template <bool Streamed, class V, class P, class C>
static void csr_gathered(i64 begin, i64 end, const P* pos, const C* crd, const V* values, const Dense<V>& d) {
  const bool short_rows = begin < end && static_cast<i64>(pos[end]) - static_cast<i64>(pos[begin]) <= 8 * (end - begin);
  if constexpr (sizeof(V) == 8) gathered_rows<Streamed, 8, __m512d>(begin, end, pos, crd, values, d);
  else if (short_rows || sizeof(C) == 8) gathered_rows<Streamed, 8, __m256>(begin, end, pos, crd, values, d);
  else if constexpr (sizeof(C) < 8) gathered_rows<Streamed, 16, __m512>(begin, end, pos, crd, values, d);
}

#endif

}  // namespace strata::kernels::STRATA_ISA
