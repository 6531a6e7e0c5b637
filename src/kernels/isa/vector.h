#pragma once
// Short vectors of the instruction set that this file is compiled for (GNU vector extensions).
#if defined(__SSE2__)
#include <immintrin.h>
#endif

#include "kernels/isa/isa.h"

#ifndef STRATA_ISA
#error "compile the files of kernels/isa with -DSTRATA_ISA=<name>"
#endif

namespace strata::kernels::STRATA_ISA {

#if defined(__AVX512F__)
inline constexpr int vector_bytes = 64;
#elif defined(__AVX__)
inline constexpr int vector_bytes = 32;
#else
inline constexpr int vector_bytes = 16;
#endif
/// Vectors of accumulators that fit the register file beside operands.
inline constexpr int max_accumulators = vector_bytes == 64 ? 16 : 8;

template <class V> inline constexpr int lanes = vector_bytes / static_cast<int>(sizeof(V));

// Unaligned, may alias: loads and stores go straight to the caller's memory. Passed by value only: clang takes any
// reference for an aligned one.
template <class V> struct VectorOf;
template <> struct VectorOf<double> {
  typedef double type __attribute__((vector_size(vector_bytes), aligned(8), may_alias));
};
template <> struct VectorOf<float> {
  typedef float type __attribute__((vector_size(vector_bytes), aligned(4), may_alias));
};
template <class V> using Vec = typename VectorOf<V>::type;

template <class V> static inline Vec<V> splat(V v) { return v - Vec<V>{}; }
template <class V> static inline Vec<V> load(const V* p) { return *reinterpret_cast<const Vec<V>*>(p); }
template <class V> static inline void store(V* p, Vec<V> v) { *reinterpret_cast<Vec<V>*>(p) = v; }
/// The same, in a register from here on: what is used several times must not be read several times (GCC folds a load
/// into each use).
template <class V> [[gnu::always_inline]] static inline Vec<V> held(Vec<V> v) {
  asm("" : "+v"(v));
  return v;
}

#if defined(__AVX512F__)
/// acc, and v * x where `take`.
[[gnu::always_inline]] static inline Vec<float> sum_if(bool take, Vec<float> acc, float v, Vec<float> x) {
  return (Vec<float>)_mm512_mask3_fmadd_ps(_mm512_set1_ps(v), (__m512)x, (__m512)acc, take ? 0xffff : 0);
}
[[gnu::always_inline]] static inline Vec<double> sum_if(bool take, Vec<double> acc, double v, Vec<double> x) {
  return (Vec<double>)_mm512_mask3_fmadd_pd(_mm512_set1_pd(v), (__m512d)x, (__m512d)acc, take ? 0xff : 0);
}
/// The elements whose bits are set; the others are not touched, and 0 in the vector.
[[gnu::always_inline]] static inline Vec<float> load_some(u16 which, const float* p) {
  return (Vec<float>)_mm512_maskz_loadu_ps(which, p);
}
[[gnu::always_inline]] static inline Vec<double> load_some(u16 which, const double* p) {
  return (Vec<double>)_mm512_maskz_loadu_pd(static_cast<u8>(which), p);
}
[[gnu::always_inline]] static inline void store_some(u16 which, float* p, Vec<float> v) {
  _mm512_mask_storeu_ps(p, which, (__m512)v);
}
[[gnu::always_inline]] static inline void store_some(u16 which, double* p, Vec<double> v) {
  _mm512_mask_storeu_pd(p, static_cast<u8>(which), (__m512d)v);
}
#endif

#if defined(__AVX2__) && !defined(__AVX512F__)
/// A vector whose halves lie apart.
[[gnu::always_inline]] static inline Vec<float> load_halves(const float* low, const float* high) {
  return (Vec<float>)_mm256_loadu2_m128(high, low);
}
[[gnu::always_inline]] static inline Vec<double> load_halves(const double* low, const double* high) {
  return (Vec<double>)_mm256_loadu2_m128d(high, low);
}
[[gnu::always_inline]] static inline void store_halves(float* low, float* high, Vec<float> v) {
  _mm256_storeu2_m128(high, low, (__m256)v);
}
[[gnu::always_inline]] static inline void store_halves(double* low, double* high, Vec<double> v) {
  _mm256_storeu2_m128d(high, low, (__m256d)v);
}
/// The high half of `a`, and the low one of `b`.
template <class V> [[gnu::always_inline]] static inline Vec<V> across(Vec<V> a, Vec<V> b) {
  return (Vec<V>)_mm256_permute2f128_ps((__m256)a, (__m256)b, 0x21);
}
/// The lanes whose number is below this one: those that the next four functions load or store.
template <class V> [[gnu::always_inline]] static inline __m256i lanes_below(i64 count) {
  if constexpr (sizeof(V) == 4)
    return _mm256_cmpgt_epi32(_mm256_set1_epi32(static_cast<int>(count)), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
  else return _mm256_cmpgt_epi64(_mm256_set1_epi64x(count), _mm256_setr_epi64x(0, 1, 2, 3));
}
/// The elements whose lanes are set; the others are not touched, and 0 in the vector.
[[gnu::always_inline]] static inline Vec<float> load_some(__m256i which, const float* p) {
  return (Vec<float>)_mm256_maskload_ps(p, which);
}
[[gnu::always_inline]] static inline Vec<double> load_some(__m256i which, const double* p) {
  return (Vec<double>)_mm256_maskload_pd(p, which);
}
[[gnu::always_inline]] static inline void store_some(__m256i which, float* p, Vec<float> v) {
  _mm256_maskstore_ps(p, which, (__m256)v);
}
[[gnu::always_inline]] static inline void store_some(__m256i which, double* p, Vec<double> v) {
  _mm256_maskstore_pd(p, which, (__m256d)v);
}
/// A store past the caches, to the start of a vector.
template <class V> [[gnu::always_inline]] static inline void stream(V* p, Vec<V> v) {
  _mm256_stream_ps(reinterpret_cast<float*>(p), (__m256)v);
}
#endif

/// One column, so that rows of x and of the result are single numbers that follow each other?
template <class V> static inline bool is_vector(const Dense<V>& d) {
  return d.columns == 1 && d.ldx == 1 && d.ldo == 1;
}

/// The rows' sum in a fixed tree.
template <class V> static inline V sum_lanes(Vec<V> v) {
  V s[lanes<V>];
  *reinterpret_cast<Vec<V>*>(s) = v;
  for (int n = lanes<V> / 2; n > 0; n /= 2)
    for (int i = 0; i < n; ++i) s[i] += s[i + n];
  return s[0];
}

template <class V> static inline void finish(V* out, V sum, V alpha, V beta) {
  *out = beta == V(0) ? alpha * sum : alpha * sum + beta * *out;
}

// What only prefetches is inlined by force: GCC holds it for a function without effect, and drops its calls.
[[gnu::always_inline]] static inline void prefetch(const void* p) { __builtin_prefetch(p, 0, 3); }
/// Into the second level.
[[gnu::always_inline]] static inline void prefetch_second(const void* p) { __builtin_prefetch(p, 0, 2); }
/// The lines of so many bytes, one more where they do not begin with one; into the first level, or the second.
template <int Bytes, bool Second> [[gnu::always_inline]] static inline void prefetch_bytes(const void* p,
                                                                                           bool straddles) {
  const auto ask = [](const char* line) __attribute__((always_inline)) {
    if constexpr (Second) prefetch_second(line);
    else prefetch(line);
  };
  const char* bytes = static_cast<const char*>(p);
  for (int q = 0; q < Bytes; q += 64) ask(bytes + q);
  if (straddles) ask(bytes + Bytes - 1);
}
/// N vectors.
template <int N, bool Second, class V> [[gnu::always_inline]] static inline void prefetch_row(const V* row,
                                                                                              bool straddles) {
  prefetch_bytes<N * vector_bytes, Second>(row, straddles);
}
/// The same for so many elements, into the second level.
template <class V> [[gnu::always_inline]] static inline void prefetch_elements_second(const V* row, i64 elements) {
  const char *p = reinterpret_cast<const char*>(row), *last = reinterpret_cast<const char*>(row + elements) - 1;
  for (; p < last; p += 64) prefetch_second(p);
  prefetch_second(last);
}
/// Does what begins here not begin with a line?
[[gnu::always_inline]] static inline bool is_astray(const void* p) {
  return reinterpret_cast<std::uintptr_t>(p) % 64 != 0;
}
/// Do CSR products read the rows of x by whole lines, all of which begin at the same place inside of one? (ByLines in
/// csr_spmm.h.) Rows of fewer vectors lose more by their ends than by a vector across two lines.
static inline bool by_lines(const void* x, i64 element_bytes, i64 ldx, i64 columns) {
  const i64 place = static_cast<i64>(reinterpret_cast<std::uintptr_t>(x) % 64);
  const bool known =
      vector_bytes == 64 ? place != 0 && place % element_bytes == 0 : vector_bytes == 32 && place % 32 == 16;
  return known && ldx * element_bytes % vector_bytes == 0 && columns * element_bytes >= 4 * vector_bytes;
}
#if defined(__AVX2__) && !defined(__AVX512F__)
inline constexpr bool can_leave = true;
#else
inline constexpr bool can_leave = false;  // with AVX-512 not measured
#endif
/// Do rows of a result go past the caches from registers? Two lines or more, all of them whole.
static inline bool streams_by_rows(const void* out, i64 row_bytes) {
  return can_leave && reinterpret_cast<std::uintptr_t>(out) % 64 == 0 && row_bytes % 64 == 0 && row_bytes >= 128;
}
/// Elements of a matrix between asking for what one chooses of an operand that it scatters over memory, and reading it.
inline constexpr i64 scatter_distance = 64;
/// What streams by is asked for early: hardware prefetchers stop at the borders of pages.
template <class T> [[gnu::always_inline]] static inline void prefetch_stream(const T* p) {
  prefetch(reinterpret_cast<const char*>(p) + stream_ahead);
}
/// The same for blocks, which are read in steps of up to some KB.
template <class T> [[gnu::always_inline]] static inline void prefetch_blocks(const T* p) {
  prefetch(reinterpret_cast<const char*>(p) + 8192);
}

}  // namespace strata::kernels::STRATA_ISA
