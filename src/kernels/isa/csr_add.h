#pragma once
// The sum of two CSR matrices, row by row: two sorted lists of coordinates become one. A vector of either at a time,
// without a jump: where each element of the first belongs among those of the second is found by halving, in all lanes
// at once; both are then spread over the places that are theirs (with AVX2 alone: csr_add_four_rows.h). The halving is
// a chain of results that wait for each other, so that two steps go through it side by side, of one row or of two (a
// fifth faster on Zen 4 in float32).
#include "kernels/isa/csr_add_identical_rows.h"
#include "kernels/isa/csr_gather.h"
#include "kernels/isa/entries.h"

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
    auto t = __builtin_shufflevector(s, s, 0, 1, 2, 3, 4, 5, 6, 7) |
             __builtin_shufflevector(s, s, 8, 9, 10, 11, 12, 13, 14, 15);
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
  static Values pick(Keys at, Values v) {
    return _mm512_maskz_permutexvar_pd(0xff, _mm512_maskz_cvtepi32_epi64(0xff, at), v);
  }
  static Values pick_where(Mask m, Keys at, Values v) {
    return _mm512_maskz_permutexvar_pd(m, _mm512_maskz_cvtepi32_epi64(0xff, at), v);
  }
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

/// One step: up to a vector of either row.
template <class V> struct MergeStep {
  using L = Lanes<V>;
  typename L::Keys a, b;
  typename L::Values av, bv;
  typename L::Mask a_in, b_in;  ///< what it takes of them
  i32 na, nb;                   ///< how many these are
  typename L::Keys rank;        ///< per lane of `a`, how many of the ascending `b` are less
  i64 row, empty;               ///< and how many rows before it have no elements
};

/// The steps of rows, one after the other.
template <class V, class P> struct MergeSteps {
  const P* apos;
  const i32* acrd;
  const V* avalues;
  const P* bpos;
  const i32* bcrd;
  const V* bvalues;
  i64 row, end;
  i64 p = 0, p_end = 0, q = 0, q_end = 0;

  /// False if there is none any more.
  bool next(MergeStep<V>& s) {
    using L = Lanes<V>;
    using Mask = typename L::Mask;
    constexpr i64 width = L::width;
    for (s.empty = -1; p >= p_end && q >= q_end; ++s.empty) {
      if (++row >= end) return false;
      p = apos[row], p_end = apos[row + 1], q = bpos[row], q_end = bpos[row + 1];
    }
    s.row = row;
    prefetch_stream(acrd + p), prefetch_stream(avalues + p), prefetch_stream(bcrd + q), prefetch_stream(bvalues + q);
    const auto a_here = static_cast<Mask>(first_bits(p_end - p)), b_here = static_cast<Mask>(first_bits(q_end - q));
    // No further than both are known: what follows the shorter view may come in between.
    const i32 a_last = p_end - p > width ? acrd[p + width - 1] : beyond,
              b_last = q_end - q > width ? bcrd[q + width - 1] : beyond;
    const auto last = L::all(a_last < b_last ? a_last : b_last);
    s.a = L::keys(a_here, acrd + p), s.b = L::keys(b_here, bcrd + q);
    s.av = L::values(a_here, avalues + p), s.bv = L::values(b_here, bvalues + q);
    s.a_in = L::at_most(a_here, s.a, last), s.b_in = L::at_most(b_here, s.b, last);
    s.na = __builtin_popcount(s.a_in), s.nb = __builtin_popcount(s.b_in);
    p += s.na, q += s.nb;
    return true;
  }
};

template <class V> static inline void rank(MergeStep<V>& s, MergeStep<V>& t) {
  using L = Lanes<V>;
  s.rank = t.rank = L::all(0);
  for (i32 half = L::width / 2; half > 0; half /= 2) {
    const auto x = L::pick(L::add(s.rank, L::all(half - 1)), s.b), y = L::pick(L::add(t.rank, L::all(half - 1)), t.b);
    s.rank = L::add_where(L::less(x, s.a), s.rank, L::all(half)),
    t.rank = L::add_where(L::less(y, t.a), t.rank, L::all(half));
  }
  const auto x = L::pick(s.rank, s.b), y = L::pick(t.rank, t.b);
  s.rank = L::add_where(L::less(x, s.a), s.rank, L::all(1)), t.rank = L::add_where(L::less(y, t.a), t.rank, L::all(1));
}

/// Writes a step's elements, and returns how many they are; two vectors of memory are written in any case.
template <bool Minus, class V> static inline i64 put(const MergeStep<V>& s, i32* crd, V* values) {
  using L = Lanes<V>;
  using Mask = typename L::Mask;
  constexpr i64 width = L::width;
  const auto iota = L::iota();
  const typename L::Values zero{};
  auto b = s.b;
  const Mask met = L::equal(s.a_in, L::pick(s.rank, b), s.a);
  const auto there = L::pick_where(met, s.rank, s.bv);
  const auto x = Minus ? s.av - there : s.av + there;
  auto y = Minus ? zero - s.bv : zero + s.bv;
  u32 places = L::bits(s.a_in, L::add(s.rank, iota));  // of a's among all
  i32 more = s.nb;                                     // of b alone
  if (met) {
    const u32 twice = _pdep_u32(met, places) << 1;  // the places behind, of b's that a has too
    const auto alone = static_cast<Mask>(_pext_u32(~twice, ~places) & s.b_in);
    b = L::compress(alone, b);
    y = L::compress(alone, y);
    places = _pext_u32(places, ~twice);
    more = __builtin_popcount(alone);
  }
  const auto low = static_cast<Mask>(places), high = static_cast<Mask>(places >> width);
  const i32 a_low = __builtin_popcount(low);
  L::store(crd, L::spread(L::spread(L::all(beyond), static_cast<Mask>(~low), b), low, s.a));
  L::store(values, L::spread(L::spread(zero, static_cast<Mask>(~low), y), low, x));
  const auto a_rest = L::add(iota, L::all(a_low)), b_rest = L::add(iota, L::all(static_cast<i32>(width) - a_low));
  L::store(crd + width, L::spread(L::spread(L::all(beyond), static_cast<Mask>(~high), L::pick(b_rest, b)), high,
                                  L::pick(a_rest, s.a)));
  L::store(values + width,
           L::spread(L::spread(zero, static_cast<Mask>(~high), L::pick(b_rest, y)), high, L::pick(a_rest, x)));
  return s.na + more;
}

template <bool Minus, class V, class P>
static i64 united_rows(i64 begin, i64 end, i64, const P* apos, const i32* acrd, const V* avalues, const P* bpos,
                       const i32* bcrd, const V* bvalues, i32* crd, V* values, i64* ends) {
  i64 n = 0, last = begin - 1;
  const auto write = [&](const MergeStep<V>& s) {
    for (i64 k = s.empty; k > 0; --k) ends[s.row - k - begin] = n;
    n += put<Minus>(s, crd + n, values + n);
    ends[s.row - begin] = n;
    last = s.row;
  };
  MergeSteps<V, P> steps{apos, acrd, avalues, bpos, bcrd, bvalues, begin - 1, end};
  MergeStep<V> s, t;
  while (steps.next(s)) {
    const bool two = steps.next(t);
    if (!two) t = s;
    rank(s, t);
    write(s);
    if (!two) break;
    write(t);
  }
  while (++last < end) ends[last - begin] = n;
  return n;
}

#endif

#ifdef STRATA_CAN_UNITE
template <class V, class P>
i64 csr_add_rows(i64 begin, i64 end, i64 columns, const P* apos, const i32* acrd, const V* avalues, const P* bpos,
                 const i32* bcrd, const V* bvalues, bool minus, i32* crd, V* values, i64* ends) {
  return minus ? united_rows<true>(begin, end, columns, apos, acrd, avalues, bpos, bcrd, bvalues, crd, values, ends)
               : united_rows<false>(begin, end, columns, apos, acrd, avalues, bpos, bcrd, bvalues, crd, values, ends);
}

#endif

}  // namespace strata::kernels::STRATA_ISA
