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
  return sum_of(__builtin_shufflevector(s, s, 0, 1, 2, 3, 4, 5, 6, 7) + __builtin_shufflevector(s, s, 8, 9, 10, 11, 12, 13, 14, 15));
}
static inline double sum_of(__m512d s) {
  const __m256d t = __builtin_shufflevector(s, s, 0, 1, 2, 3) + __builtin_shufflevector(s, s, 4, 5, 6, 7);
  return (t[0] + t[2]) + (t[1] + t[3]);
}

// Columns of the elements that `m` names, and what x holds there: none of the others is read.
static inline __m256i columns_where(__mmask8 m, const i32* crd) { return _mm256_maskz_loadu_epi32(m, crd); }
static inline __m256i columns_where(__mmask8 m, const u16* crd) { return _mm256_maskz_cvtepu16_epi32(m, _mm_maskz_loadu_epi16(m, crd)); }
static inline __m256i columns_where(__mmask8 m, const u8* crd) { return _mm256_maskz_cvtepu8_epi32(m, _mm_maskz_loadu_epi8(m, crd)); }
static inline __m512i columns_where(__mmask8 m, const i64* crd) { return _mm512_maskz_loadu_epi64(m, crd); }
static inline __m512i columns_where(__mmask16 m, const i32* crd) { return _mm512_maskz_loadu_epi32(m, crd); }
static inline __m512i columns_where(__mmask16 m, const u16* crd) { return _mm512_maskz_cvtepu16_epi32(m, _mm256_maskz_loadu_epi16(m, crd)); }
static inline __m512i columns_where(__mmask16 m, const u8* crd) { return _mm512_maskz_cvtepu8_epi32(m, _mm_maskz_loadu_epi8(m, crd)); }

static inline __m256 gathered(__mmask8 m, __m256i c, const float* x) { return _mm256_mmask_i32gather_ps(_mm256_setzero_ps(), m, c, x, 4); }
static inline __m512d gathered(__mmask8 m, __m256i c, const double* x) { return _mm512_mask_i32gather_pd(_mm512_setzero_pd(), m, c, x, 8); }
static inline __m512 gathered(__mmask16 m, __m512i c, const float* x) { return _mm512_mask_i32gather_ps(_mm512_setzero_ps(), m, c, x, 4); }
static inline __m512d gathered(__mmask8 m, __m512i c, const double* x) { return _mm512_mask_i64gather_pd(_mm512_setzero_pd(), m, c, x, 8); }
static inline __m256 gathered(__mmask8 m, __m512i c, const float* x) { return _mm512_mask_i64gather_ps(_mm256_setzero_ps(), m, c, x, 4); }

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

// A row's length is what a core cannot guess: each vector goes under a mask, the last one as the others. Element q of a row goes to sum
// q % W.
template <bool Streamed, i64 W, class Sums, class V, class P, class C>
static void gathered_rows(i64 begin, i64 end, const P* pos, const C* crd, const V* values, const Dense<V>& d) {
  i64 k = begin < end ? static_cast<i64>(pos[begin]) : 0;
  for (i64 i = begin; i < end; ++i) {
    const i64 stop = pos[i + 1];
    Sums sums{};
    for (; k < stop; k += W) {
      if constexpr (Streamed) prefetch_stream(values + k), prefetch_stream(crd + k);
      add_where(first_bits(stop - k), sums, crd + k, values + k, d.x);
    }
    k = stop;
    finish(d.out + i, sum_of(sums), d.alpha, d.beta);
  }
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
