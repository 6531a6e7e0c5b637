#pragma once
// The sum of two CSR matrices, row by row: two sorted lists of coordinates become one. A vector of either at a time, without a
// jump: where each element of the first belongs among those of the second is found by halving, in all lanes at once; both are
// then spread over the places that are theirs.
#include "kernels/isa/csr_gather.h"

namespace strata::kernels::STRATA_ISA {

#if defined(__AVX512F__) && defined(__AVX512VL__) && defined(__AVX512BW__)

inline constexpr i32 beyond = 0x7fffffff;  ///< stands behind every coordinate

template <class V> struct Lanes;

template <> struct Lanes<float> {
  using Keys = __m512i;
  using Values = __m512;
  using Mask = __mmask16;
  static constexpr int width = 16;
  static Keys all(i32 x) { return _mm512_set1_epi32(x); }
  static Keys iota() { return _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15); }
  static Keys keys(Mask m, const i32* p) { return _mm512_mask_loadu_epi32(all(beyond), m, p); }
  static Values values(Mask m, const float* p) { return _mm512_maskz_loadu_ps(m, p); }
  static void store(i32* p, Keys k) { _mm512_storeu_si512(p, k); }
  static void store(float* p, Values v) { _mm512_storeu_ps(p, v); }
  // (Under a full mask: GCC 12 takes the plain ones for reading what was never set.)
  static Keys pick(Keys at, Keys k) { return _mm512_maskz_permutexvar_epi32(0xffff, at, k); }
  static Values pick(Keys at, Values v) { return _mm512_maskz_permutexvar_ps(0xffff, at, v); }
  static Values pick_where(Mask m, Keys at, Values v) { return _mm512_maskz_permutexvar_ps(m, at, v); }
  static Keys add(Keys a, Keys b) { return _mm512_add_epi32(a, b); }
  static Keys add_where(Mask m, Keys a, Keys b) { return _mm512_mask_add_epi32(a, m, a, b); }
  static Mask less(Keys a, Keys b) { return _mm512_cmplt_epi32_mask(a, b); }
  static Mask at_most(Mask m, Keys a, Keys b) { return _mm512_mask_cmple_epi32_mask(m, a, b); }
  static Mask equal(Mask m, Keys a, Keys b) { return _mm512_mask_cmpeq_epi32_mask(m, a, b); }
  static u32 bits(Mask m, Keys at) {
    using Words = u32 __attribute__((vector_size(64)));
    const auto s = reinterpret_cast<Words>(_mm512_maskz_sllv_epi32(m, all(1), at));
    auto t = __builtin_shufflevector(s, s, 0, 1, 2, 3, 4, 5, 6, 7) | __builtin_shufflevector(s, s, 8, 9, 10, 11, 12, 13, 14, 15);
    t = t | __builtin_shufflevector(t, t, 4, 5, 6, 7, 0, 1, 2, 3);
    t = t | __builtin_shufflevector(t, t, 2, 3, 0, 1, 6, 7, 4, 5);
    return t[0] | t[1];
  }
  static Keys compress(Mask m, Keys k) { return _mm512_mask_compress_epi32(all(beyond), m, k); }
  static Values compress(Mask m, Values v) { return _mm512_maskz_compress_ps(m, v); }
  static Keys spread(Keys other, Mask m, Keys k) { return _mm512_mask_expand_epi32(other, m, k); }
  static Values spread(Values other, Mask m, Values v) { return _mm512_mask_expand_ps(other, m, v); }
};

template <> struct Lanes<double> {
  using Keys = __m256i;
  using Values = __m512d;
  using Mask = __mmask8;
  static constexpr int width = 8;
  static Keys all(i32 x) { return _mm256_set1_epi32(x); }
  static Keys iota() { return _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7); }
  static Keys keys(Mask m, const i32* p) { return _mm256_mask_loadu_epi32(all(beyond), m, p); }
  static Values values(Mask m, const double* p) { return _mm512_maskz_loadu_pd(m, p); }
  static void store(i32* p, Keys k) { _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), k); }
  static void store(double* p, Values v) { _mm512_storeu_pd(p, v); }
  static Keys pick(Keys at, Keys k) { return _mm256_permutexvar_epi32(at, k); }
  static Values pick(Keys at, Values v) { return _mm512_maskz_permutexvar_pd(0xff, _mm512_maskz_cvtepi32_epi64(0xff, at), v); }
  static Values pick_where(Mask m, Keys at, Values v) { return _mm512_maskz_permutexvar_pd(m, _mm512_maskz_cvtepi32_epi64(0xff, at), v); }
  static Keys add(Keys a, Keys b) { return _mm256_add_epi32(a, b); }
  static Keys add_where(Mask m, Keys a, Keys b) { return _mm256_mask_add_epi32(a, m, a, b); }
  static Mask less(Keys a, Keys b) { return _mm256_cmplt_epi32_mask(a, b); }
  static Mask at_most(Mask m, Keys a, Keys b) { return _mm256_mask_cmple_epi32_mask(m, a, b); }
  static Mask equal(Mask m, Keys a, Keys b) { return _mm256_mask_cmpeq_epi32_mask(m, a, b); }
  static u32 bits(Mask m, Keys at) {
    const __m256i s = _mm256_maskz_sllv_epi32(m, all(1), at);
    __m128i t = _mm_or_si128(_mm256_castsi256_si128(s), _mm256_extracti128_si256(s, 1));
    t = _mm_or_si128(t, _mm_shuffle_epi32(t, 0x4e));
    t = _mm_or_si128(t, _mm_shuffle_epi32(t, 0xb1));
    return static_cast<u32>(_mm_cvtsi128_si32(t));
  }
  static Keys compress(Mask m, Keys k) { return _mm256_mask_compress_epi32(all(beyond), m, k); }
  static Values compress(Mask m, Values v) { return _mm512_maskz_compress_pd(m, v); }
  static Keys spread(Keys other, Mask m, Keys k) { return _mm256_mask_expand_epi32(other, m, k); }
  static Values spread(Values other, Mask m, Values v) { return _mm512_mask_expand_pd(other, m, v); }
};

/// Per lane of `a`, how many of the ascending `b` are less.
template <class L> static inline typename L::Keys ranks(typename L::Keys a, typename L::Keys b) {
  typename L::Keys r = L::all(0);
  for (i32 step = L::width / 2; step > 0; step /= 2) r = L::add_where(L::less(L::pick(L::add(r, L::all(step - 1)), b), a), r, L::all(step));
  return L::add_where(L::less(L::pick(r, b), a), r, L::all(1));
}

template <bool Minus, class V, class P>
static i64 united_rows(i64 begin, i64 end, const P* apos, const i32* acrd, const V* avalues, const P* bpos, const i32* bcrd, const V* bvalues, i32* crd, V* values, i64* ends) {
  using L = Lanes<V>;
  using Mask = typename L::Mask;
  constexpr i64 width = L::width;
  const auto iota = L::iota();
  const typename L::Values zero{};
  i64 n = 0;
  for (i64 i = begin; i < end; ++i) {
    i64 p = apos[i], q = bpos[i];
    const i64 p_end = apos[i + 1], q_end = bpos[i + 1];
    while (p < p_end || q < q_end) {
      prefetch_stream(acrd + p), prefetch_stream(avalues + p), prefetch_stream(bcrd + q), prefetch_stream(bvalues + q);
      const auto a_here = static_cast<Mask>(first_bits(p_end - p)), b_here = static_cast<Mask>(first_bits(q_end - q));
      // No further than both are known: what follows the shorter view may come in between.
      const i32 a_last = p_end - p > width ? acrd[p + width - 1] : beyond, b_last = q_end - q > width ? bcrd[q + width - 1] : beyond;
      const auto last = L::all(a_last < b_last ? a_last : b_last);
      const auto a = L::keys(a_here, acrd + p);
      auto b = L::keys(b_here, bcrd + q);
      const Mask a_in = L::at_most(a_here, a, last), b_in = L::at_most(b_here, b, last);
      const auto av = L::values(a_here, avalues + p), bv = L::values(b_here, bvalues + q);
      const i32 na = __builtin_popcount(a_in), nb = __builtin_popcount(b_in);
      const auto r = ranks<L>(a, b);
      const Mask met = L::equal(a_in, L::pick(r, b), a);
      const auto there = L::pick_where(met, r, bv);
      const auto x = Minus ? av - there : av + there;
      auto y = Minus ? zero - bv : zero + bv;
      u32 places = L::bits(a_in, L::add(r, iota));  // of a's among all
      i32 more = nb;                                // of b alone
      if (met) {
        const u32 twice = _pdep_u32(met, places) << 1;  // the places behind, of b's that a has too
        const auto alone = static_cast<Mask>(_pext_u32(~twice, ~places) & b_in);
        b = L::compress(alone, b);
        y = L::compress(alone, y);
        places = _pext_u32(places, ~twice);
        more = __builtin_popcount(alone);
      }
      const auto low = static_cast<Mask>(places), high = static_cast<Mask>(places >> width);
      const i32 a_low = __builtin_popcount(low);
      L::store(crd + n, L::spread(L::spread(L::all(beyond), static_cast<Mask>(~low), b), low, a));
      L::store(values + n, L::spread(L::spread(zero, static_cast<Mask>(~low), y), low, x));
      const auto a_rest = L::add(iota, L::all(a_low)), b_rest = L::add(iota, L::all(static_cast<i32>(width) - a_low));
      L::store(crd + n + width, L::spread(L::spread(L::all(beyond), static_cast<Mask>(~high), L::pick(b_rest, b)), high, L::pick(a_rest, a)));
      L::store(values + n + width, L::spread(L::spread(zero, static_cast<Mask>(~high), L::pick(b_rest, y)), high, L::pick(a_rest, x)));
      p += na, q += nb, n += na + more;
    }
    ends[i - begin] = n;
  }
  return n;
}

template <class V, class P>
i64 unite(i64 begin, i64 end, const P* apos, const i32* acrd, const V* avalues, const P* bpos, const i32* bcrd, const V* bvalues, bool minus, i32* crd, V* values, i64* ends) {
  return minus ? united_rows<true>(begin, end, apos, acrd, avalues, bpos, bcrd, bvalues, crd, values, ends)
               : united_rows<false>(begin, end, apos, acrd, avalues, bpos, bcrd, bvalues, crd, values, ends);
}

#endif

}  // namespace strata::kernels::STRATA_ISA
