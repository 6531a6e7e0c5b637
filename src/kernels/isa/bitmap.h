#pragma once
#include "kernels/isa/places.h"

namespace strata::kernels::STRATA_ISA {

/// Where each set bit's value goes when the values of a group of columns are expanded to full width: for each mask, the
/// lane to take, and all ones in lanes whose bit is set (f64 lanes are pairs of 32-bit lanes).
template <int Columns> struct ExpandTable {
  alignas(32) i32 source[1 << Columns][8];
  alignas(32) i32 keep[1 << Columns][8];
  constexpr ExpandTable() : source(), keep() {
    constexpr int width = 8 / Columns;
    for (int mask = 0; mask < (1 << Columns); ++mask)
      for (int c = 0, next = 0; c < Columns; ++c) {
        const bool set = mask >> c & 1;
        for (int w = 0; w < width; ++w) {
          source[mask][c * width + w] = set ? next * width + w : 0;
          keep[mask][c * width + w] = set ? -1 : 0;
        }
        next += set;
      }
  }
};

// acc + (values of the mask's columns) * x, in the lanes whose bit is set alone: an absent element annihilates NaN and
// Inf.
#if defined(__AVX512F__)
// The empty asm keeps compilers from folding the load into vexpandps' memory form, which is microcoded on some
// machines.
static inline Vec<float> accumulate(u64 mask, const float* v, const float* x, Vec<float> acc) {
  __m512 w = _mm512_loadu_ps(v);
  asm("" : "+v"(w));
  const auto m = static_cast<__mmask16>(mask);
  return reinterpret_cast<Vec<float>>(
      _mm512_mask3_fmadd_ps(_mm512_maskz_expand_ps(m, w), _mm512_loadu_ps(x), reinterpret_cast<__m512>(acc), m));
}
static inline Vec<double> accumulate(u64 mask, const double* v, const double* x, Vec<double> acc) {
  __m512d w = _mm512_loadu_pd(v);
  asm("" : "+v"(w));
  const auto m = static_cast<__mmask8>(mask);
  return reinterpret_cast<Vec<double>>(
      _mm512_mask3_fmadd_pd(_mm512_maskz_expand_pd(m, w), _mm512_loadu_pd(x), reinterpret_cast<__m512d>(acc), m));
}
#elif defined(__AVX2__)
static constexpr ExpandTable<8> expand8{};
static constexpr ExpandTable<4> expand4{};
static inline Vec<float> accumulate(u64 mask, const float* v, const float* x, Vec<float> acc) {
  const __m256i source = *reinterpret_cast<const __m256i*>(expand8.source[mask & 255]);
  const __m256 keep = *reinterpret_cast<const __m256*>(expand8.keep[mask & 255]);
  const __m256 e = _mm256_and_ps(_mm256_permutevar8x32_ps(_mm256_loadu_ps(v), source), keep);
  return reinterpret_cast<Vec<float>>(
      _mm256_fmadd_ps(e, _mm256_and_ps(_mm256_loadu_ps(x), keep), reinterpret_cast<__m256>(acc)));
}
static inline Vec<double> accumulate(u64 mask, const double* v, const double* x, Vec<double> acc) {
  const __m256i source = *reinterpret_cast<const __m256i*>(expand4.source[mask & 15]);
  const __m256d keep = *reinterpret_cast<const __m256d*>(expand4.keep[mask & 15]);
  const __m256i w = _mm256_permutevar8x32_epi32(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(v)), source);
  return reinterpret_cast<Vec<double>>(_mm256_fmadd_pd(_mm256_and_pd(_mm256_castsi256_pd(w), keep),
                                                       _mm256_and_pd(_mm256_loadu_pd(x), keep),
                                                       reinterpret_cast<__m256d>(acc)));
}
#endif

template <class V> static inline V word_dot(u64 bits, const V*& v, const V* x, V sum) {
  while (bits) {
    sum += *v++ * x[__builtin_ctzll(bits)];
    bits &= bits - 1;
  }
  return sum;
}

/// `limit`: values up to here may be read; a full vector load past it is replaced by single loads. So are those of rows
/// with fewer values than half their vectors.
template <class V, class P>
void bitmap_vector(i64 begin, i64 end, const u64* words, i64 words_per_row, const P* pos, const V* values,
                   [[maybe_unused]] i64 limit, [[maybe_unused]] i64 cols, const Dense<V>& d) {
  for (i64 i = begin; i < end; ++i) {
    const u64* row = words + i * words_per_row;
    const V* v = values + pos[i];
    V tail = 0;
    i64 w = 0;
#if defined(__AVX2__) || defined(__AVX512F__)
    constexpr int L = lanes<V>, groups = 64 / L, chains = 4;
    const bool full = static_cast<i64>(pos[i + 1]) - static_cast<i64>(pos[i]) >= words_per_row * groups / 2;
    Vec<V> acc[chains];
    for (int q = 0; q < chains; ++q) acc[q] = Vec<V>{};
    for (; full && (w + 1) * 64 <= cols && v + 64 + L <= values + limit; ++w) {
      const u64 bits = row[w];
      if (d.stream) {
        prefetch_stream(v);
        prefetch_stream(reinterpret_cast<const char*>(v) + 64);
      }
      const V* x = d.x + w * 64;
      for (int g = 0; g < groups; ++g)
        acc[g % chains] = accumulate(bits >> (g * L), v + __builtin_popcountll(g ? bits << (64 - g * L) : 0), x + g * L,
                                     acc[g % chains]);
      v += __builtin_popcountll(bits);
    }
    for (int q = 1; q < chains; ++q) acc[0] += acc[q];
    tail = sum_lanes<V>(acc[0]);
#endif
    for (; w < words_per_row; ++w) tail = word_dot(row[w], v, d.x + w * 64, tail);
    finish(d.out + i, tail, d.alpha, d.beta);
  }
}

}  // namespace strata::kernels::STRATA_ISA
