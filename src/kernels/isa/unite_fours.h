#pragma once
// The sum of two CSR matrices with AVX2, which cannot spread a vector over places of its own (unite.h): four elements of either
// row at a time become up to eight of the result. Where each of the first's belongs is a byte of bits, and a table says what comes
// where. The next row is chosen without a jump, since its length is what a core guesses wrong.
#include "kernels/isa/vector.h"

namespace strata::kernels::STRATA_ISA {

#if defined(__AVX2__) && defined(__BMI2__) && !defined(__AVX512F__)

inline constexpr i32 beyond = 0x7fffffff;  ///< stands behind every coordinate

/// What comes to each of eight places: the next of four (0 to 3) where its bit is set, else of four others (4 to 7). Then the same
/// in halves of values of 8 bytes.
struct Orders {
  alignas(64) u8 of[256][8];
  u8 halves[256][16];
  constexpr Orders() : of{}, halves{} {
    for (int bits = 0; bits < 256; ++bits)
      for (int place = 0, taken = 0; place < 8; ++place) {
        const bool first = bits >> place & 1;
        const int from = first ? taken % 4 : 4 + (place - taken) % 4;
        taken += first;
        of[bits][place] = static_cast<u8>(from);
        halves[bits][2 * place] = static_cast<u8>(2 * from), halves[bits][2 * place + 1] = static_cast<u8>(2 * from + 1);
      }
  }
};
/// The lanes of four whose bits are set, in order; then the same in halves.
struct Chosen {
  alignas(64) u8 of[16][4];
  u8 halves[16][8];
  constexpr Chosen() : of{}, halves{} {
    for (int bits = 0; bits < 16; ++bits)
      for (int lane = 0, n = 0; lane < 4; ++lane)
        if (bits >> lane & 1) {
          of[bits][n] = static_cast<u8>(lane);
          halves[bits][2 * n] = static_cast<u8>(2 * lane), halves[bits][2 * n + 1] = static_cast<u8>(2 * lane + 1);
          ++n;
        }
  }
};
inline constexpr Orders orders;
inline constexpr Chosen chosen_of;

using Keys = __m128i;

static inline Keys four_bytes(const u8* p) {
  i32 word;
  __builtin_memcpy(&word, p, 4);
  return _mm_cvtepu8_epi32(_mm_cvtsi32_si128(word));
}
static inline __m256i eight_bytes(const u8* p) { return _mm256_cvtepu8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(p))); }
static inline u32 bits_of(Keys lanes) { return static_cast<u32>(_mm_movemask_ps(_mm_castsi128_ps(lanes))); }
static inline Keys pick(Keys at, Keys k) { return _mm_castps_si128(_mm_permutevar_ps(_mm_castsi128_ps(k), at)); }

/// Four values.
template <class V> struct FourOf;

template <> struct FourOf<float> {
  using type = __m128;
  template <bool Near> static type load(Keys here, const float* p) { return Near ? _mm_maskload_ps(p, here) : _mm_loadu_ps(p); }
  static void store(float* p, type v) { _mm_storeu_ps(p, v); }
  static type where(Keys lanes, type v) { return _mm_and_ps(v, _mm_castsi128_ps(lanes)); }
  static type pick(Keys at, type v) { return _mm_permutevar_ps(v, at); }
  static type choose(u32 bits, type v) { return pick(four_bytes(chosen_of.of[bits]), v); }
  static void join(u32 places, type a, type b, float* out) { _mm256_storeu_ps(out, _mm256_permutevar8x32_ps(_mm256_set_m128(b, a), eight_bytes(orders.of[places]))); }
};

template <> struct FourOf<double> {
  using type = __m256d;
  template <bool Near> static type load(Keys here, const double* p) { return Near ? _mm256_maskload_pd(p, _mm256_cvtepi32_epi64(here)) : _mm256_loadu_pd(p); }
  static void store(double* p, type v) { _mm256_storeu_pd(p, v); }
  static type where(Keys lanes, type v) { return _mm256_and_pd(v, _mm256_castsi256_pd(_mm256_cvtepi32_epi64(lanes))); }
  static type by_halves(__m256i at, type v) { return _mm256_castps_pd(_mm256_permutevar8x32_ps(_mm256_castpd_ps(v), at)); }
  static type pick(Keys at, type v) {
    const __m256i low = _mm256_cvtepu32_epi64(_mm_add_epi32(at, at)), high = _mm256_add_epi64(_mm256_slli_epi64(low, 32), _mm256_set1_epi64x(i64{1} << 32));
    return by_halves(_mm256_or_si256(low, high), v);
  }
  static type choose(u32 bits, type v) { return by_halves(eight_bytes(chosen_of.halves[bits]), v); }
  static type four(const u8* order, type a, type b) {
    const __m256i at = eight_bytes(order);  // of b's from 8 on
    return _mm256_castps_pd(_mm256_blendv_ps(_mm256_castpd_ps(by_halves(at, a)), _mm256_castpd_ps(by_halves(at, b)), _mm256_castsi256_ps(_mm256_slli_epi32(at, 28))));
  }
  static void join(u32 places, type a, type b, double* out) { store(out, four(orders.halves[places], a, b)), store(out + 4, four(orders.halves[places] + 8, a, b)); }
};

/// One of the two matrices, from element `at` on; its row ends at `stop`.
template <class V> struct Walk {
  const i32* crd;
  const V* values;
  i64 at, stop;

  i64 left() const { return stop - at; }
  Keys here() const {
    const i64 n = left() < 4 ? left() : 4;
    return _mm_cmpgt_epi32(_mm_set1_epi32(static_cast<i32>(n)), _mm_setr_epi32(0, 1, 2, 3));
  }
  template <bool Near> Keys keys(Keys here) const {
    const Keys k = Near ? _mm_maskload_epi32(crd + at, here) : _mm_loadu_si128(reinterpret_cast<const __m128i*>(crd + at));
    return _mm_blendv_epi8(_mm_set1_epi32(beyond), k, here);
  }
};

/// Where a row ends in both matrices, and in their sum. (Side by side: what a step holds must fit the registers.)
struct RowEnds {
  i64 a, b, sum;
};

template <bool Minus, class V> struct Sum {
  using Four = FourOf<V>;
  using Values = typename Four::type;
  Walk<V> a, b;
  RowEnds* row;
  i32* crd;
  V* values;
  i64 n;

  static Values of_a(Values v) { return Minus ? v - Values{} : v + Values{}; }  // (-0.0 - 0 is -0.0, -0.0 + 0 is 0)
  static Values of_b(Values v) { return Minus ? Values{} - v : Values{} + v; }

  static constexpr i64 long_rest = 16;  ///< elements of a row that are worth a loop of their own

  /// What is left of a row that the other matrix has no more of, by whole fours behind the first one, which is written; says how many.
  [[gnu::always_inline]] i64 copy(const Walk<V>& w, Values (*of)(Values)) {
    i64 q = 4;
    for (; q + 4 <= w.left(); q += 4) {
      _mm_storeu_si128(reinterpret_cast<__m128i*>(crd + n + q), _mm_loadu_si128(reinterpret_cast<const __m128i*>(w.crd + w.at + q)));
      Four::store(values + n + q, of(Four::template load<false>(Keys{}, w.values + w.at + q)));
    }
    return q;
  }

  /// Takes so many of both, of which `came` were written, and goes on to the next row where nothing is left.
  [[gnu::always_inline]] void take(i64 na, i64 nb, i64 came) {
    const i64 done = static_cast<i64>(na == a.left()) & static_cast<i64>(nb == b.left()), on = -done;  // (a choice would become a jump)
    n += came, row->sum = n;
    a.at += na, a.stop += on & (row[1].a - a.stop);
    b.at += nb, b.stop += on & (row[1].b - b.stop);
    row += done;
  }

  /// Near the end of the arrays nothing is read behind a row.
  template <bool Near> [[gnu::always_inline]] void step() {
    const Keys a_here = a.here(), b_here = b.here(), i = a.template keys<Near>(a_here);
    Keys j = b.template keys<Near>(b_here);
    const Values av = Four::template load<Near>(a_here, a.values + a.at), bv = Four::template load<Near>(b_here, b.values + b.at);
    // Patterns that are the same here, and blocks of which one lies before the other: a third of the work.
    if (bits_of(_mm_cmpeq_epi32(i, j)) == 15) {
      const i64 some = a.left() < 4 ? a.left() : 4;
      _mm_storeu_si128(reinterpret_cast<__m128i*>(crd + n), i), Four::store(values + n, Minus ? av - bv : av + bv);
      return take(some, some, some);
    }
    const Keys i_last = _mm_shuffle_epi32(i, 0xff), j_last = _mm_shuffle_epi32(j, 0xff);
    if (bits_of(_mm_cmpgt_epi32(j, i_last)) == 15) {
      _mm_storeu_si128(reinterpret_cast<__m128i*>(crd + n), i), Four::store(values + n, of_a(av));
      const i64 some = b.left() == 0 && a.left() >= long_rest ? copy(a, of_a) : 4;
      return take(some, 0, some);
    }
    if (bits_of(_mm_cmpgt_epi32(i, j_last)) == 15) {
      _mm_storeu_si128(reinterpret_cast<__m128i*>(crd + n), j), Four::store(values + n, of_b(bv));
      const i64 some = a.left() == 0 && b.left() >= long_rest ? copy(b, of_b) : 4;
      return take(0, some, some);
    }
    // No further than both are known: what follows the shorter view may come in between.
    const Keys last = _mm_min_epi32(i_last, j_last);
    const u32 a_in = bits_of(_mm_andnot_si128(_mm_cmpgt_epi32(i, last), a_here)), b_in = bits_of(_mm_andnot_si128(_mm_cmpgt_epi32(j, last), b_here));
    const i32 na = __builtin_popcount(a_in), nb = __builtin_popcount(b_in);
    // Minus how many of b lie before each of a.
    const Keys before = _mm_add_epi32(_mm_add_epi32(_mm_cmpgt_epi32(i, _mm_shuffle_epi32(j, 0)), _mm_cmpgt_epi32(i, _mm_shuffle_epi32(j, 0x55))),
                                      _mm_add_epi32(_mm_cmpgt_epi32(i, _mm_shuffle_epi32(j, 0xaa)), _mm_cmpgt_epi32(i, j_last)));
    const Keys rank = _mm_sub_epi32(_mm_setzero_si128(), before), same = _mm_cmpeq_epi32(pick(rank, j), i);
    Keys place = _mm_sllv_epi32(_mm_set1_epi32(1), _mm_sub_epi32(_mm_setr_epi32(0, 1, 2, 3), before));
    place = _mm_or_si128(place, _mm_shuffle_epi32(place, 0x4e));
    u32 places = static_cast<u32>(_mm_cvtsi128_si32(_mm_or_si128(place, _mm_shuffle_epi32(place, 0xb1))));  // of a's among all
    i32 more = nb;                                                                                            // of b alone
    Values x = of_a(av), y = of_b(bv);
    if (const u32 met = bits_of(same) & a_in) {
      const Values there = Four::where(same, Four::pick(rank, bv));
      x = Minus ? av - there : av + there;
      places = _bzhi_u32(places, static_cast<u32>(na + nb));
      const u32 twice = _pdep_u32(met, places) << 1;  // the places behind, of b's that a has too
      const u32 alone = _pext_u32(~twice, ~places) & b_in;
      j = pick(four_bytes(chosen_of.of[alone]), j), y = Four::choose(alone, y);
      places = _pext_u32(places, ~twice);
      more = __builtin_popcount(alone);
    }
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(crd + n), _mm256_permutevar8x32_epi32(_mm256_set_m128i(j, i), eight_bytes(orders.of[places])));
    Four::join(places, x, y, values + n);
    take(na, nb, na + more);
  }
};

template <bool Minus, bool Near, class V, class P>
static i64 united_some(i64 begin, i64 end, const P* apos, const i32* acrd, const V* avalues, const P* bpos, const i32* bcrd, const V* bvalues, i32* crd, V* values, i64* ends) {
  constexpr i64 most = 128;
  RowEnds rows[most + 1];
  i64 n = 0;
  for (i64 from = begin, to; from < end; from = to) {
    to = from + most < end ? from + most : end;
    for (i64 i = from; i < to; ++i) rows[i - from].a = apos[i + 1], rows[i - from].b = bpos[i + 1];
    RowEnds* const last = rows + (to - from);
    last->a = last[-1].a, last->b = last[-1].b;  // read, and of no effect
    Sum<Minus, V> sum{{acrd, avalues, apos[from], rows[0].a}, {bcrd, bvalues, bpos[from], rows[0].b}, rows, crd, values, n};
    while (sum.row != last) sum.template step<Near>();
    n = sum.n;
    for (i64 i = from; i < to; ++i) ends[i - begin] = rows[i - from].sum;
  }
  return n;
}

template <bool Minus, class V, class P>
static i64 united_rows(i64 begin, i64 end, const P* apos, const i32* acrd, const V* avalues, const P* bpos, const i32* bcrd, const V* bvalues, i32* crd, V* values, i64* ends) {
  i64 safe = end;  // rows before this one have four more elements behind them
  while (safe > begin && (static_cast<i64>(apos[safe]) + 4 > apos[end] || static_cast<i64>(bpos[safe]) + 4 > bpos[end])) --safe;
  const i64 n = united_some<Minus, false>(begin, safe, apos, acrd, avalues, bpos, bcrd, bvalues, crd, values, ends);
  const i64 rest = united_some<Minus, true>(safe, end, apos, acrd, avalues, bpos, bcrd, bvalues, crd + n, values + n, ends + (safe - begin));
  for (i64 i = safe; i < end; ++i) ends[i - begin] += n;
  return n + rest;
}

#endif

}  // namespace strata::kernels::STRATA_ISA
