#pragma once
// The sum of two CSR matrices with AVX2, which cannot spread a vector over places of its own (csr_add.h): four elements
// of either become up to eight of the result. Where each of the first's belongs is a byte of bits, and a table says
// what comes where. Some rows at a time are one: their numbers stand above the columns, for where a short row ends is
// what a core guesses wrong.
#include "kernels/isa/four_rows.h"

namespace strata::kernels::STRATA_ISA {

#if defined(__AVX2__) && defined(__BMI2__) && !defined(__AVX512F__)

inline constexpr i32 beyond = 0x7fffffff;  ///< stands behind every key

/// One of the two, from element `at` to `stop`; the same elements of G rows.
template <class V, int G> struct RowsCursor {
  const i32* keys;
  const V* values[G];
  i64 at, stop;

  bool has_four() const { return at + 4 <= stop; }
  Keys four() const { return _mm_loadu_si128(reinterpret_cast<const __m128i*>(keys + at)); }
  Keys here() const {
    const i64 n = stop - at < 4 ? stop - at : 4;
    return _mm_cmpgt_epi32(_mm_set1_epi32(static_cast<i32>(n)), _mm_setr_epi32(0, 1, 2, 3));
  }
  template <bool Near> Keys some(Keys here) const {
    return _mm_blendv_epi8(_mm_set1_epi32(beyond), Near ? _mm_maskload_epi32(keys + at, here) : four(), here);
  }
};

/// The same, for the compiler a number of which it knows nothing: no jump is made of it.
static inline i32 unguessed(i32 x) {
  asm("" : "+r"(x));
  return x;
}

/// How the elements of two rows lie to each other. Apart: hardly one is in both. Runs: four at a time are the same, or
/// before the other's.
enum class How { apart, meets, runs };

/// Near the end of the arrays nothing is read behind them. `Padded`: four keys that are `beyond` follow either's. G
/// rows with the same columns are summed together.
template <bool Minus, bool Near, bool Padded, class V, int G = 1> struct Sum {
  using Four = FourOf<V>;
  using Values = typename Four::type;
  RowsCursor<V, G> a, b;
  i32* keys;
  V* values[G];
  i64 n = 0;

  static Values of_a(Values v) { return Minus ? v - Values{} : v + Values{}; }  // (-0.0 - 0 is -0.0, -0.0 + 0 is 0)
  static Values of_b(Values v) { return Minus ? Values{} - v : Values{} + v; }
  /// What four elements of each of the rows hold.
  struct FourElements {
    Values of[G];
  };
  static FourElements whole(const RowsCursor<V, G>& rows) {
    FourElements r;
    for (int q = 0; q < G; ++q) r.of[q] = Four::template load<false>(Keys{}, rows.values[q] + rows.at);
    return r;
  }
  static FourElements some(const RowsCursor<V, G>& rows, Keys here) {
    FourElements r;
    for (int q = 0; q < G; ++q) r.of[q] = Four::template load<Near>(here, rows.values[q] + rows.at);
    return r;
  }
  template <class F> static FourElements each(const F& f) {
    FourElements r;
    for (int q = 0; q < G; ++q) r.of[q] = f(q);
    return r;
  }

  [[gnu::always_inline]] void put(Keys i, const FourElements& v) {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(keys + n), i);
    for (int q = 0; q < G; ++q) Four::store(values[q] + n, v.of[q]);
    n += 4;
  }

  /// Those of either that are in, none of which lies behind one that is not. `Meets`: some of both are the same, or
  /// not, as a core cannot guess; what that takes is done in any case.
  template <bool Meets = false> [[gnu::always_inline]] void csr_add_rows(Keys i, Keys j, const FourElements& av,
                                                                         const FourElements& bv, u32 a_in, u32 b_in) {
    const i32 na = __builtin_popcount(a_in), nb = __builtin_popcount(b_in);
    // Minus how many of b lie before each of a.
    const Keys before = _mm_add_epi32(
        _mm_add_epi32(_mm_cmpgt_epi32(i, _mm_shuffle_epi32(j, 0)), _mm_cmpgt_epi32(i, _mm_shuffle_epi32(j, 0x55))),
        _mm_add_epi32(_mm_cmpgt_epi32(i, _mm_shuffle_epi32(j, 0xaa)), _mm_cmpgt_epi32(i, _mm_shuffle_epi32(j, 0xff))));
    const Keys rank = _mm_sub_epi32(_mm_setzero_si128(), before), same = _mm_cmpeq_epi32(pick(rank, j), i);
    Keys place = _mm_sllv_epi32(_mm_set1_epi32(1), _mm_sub_epi32(_mm_setr_epi32(0, 1, 2, 3), before));
    place = _mm_or_si128(place, _mm_shuffle_epi32(place, 0x4e));
    u32 places =
        static_cast<u32>(_mm_cvtsi128_si32(_mm_or_si128(place, _mm_shuffle_epi32(place, 0xb1))));  // of a's among all
    i32 more = nb;                                                                                 // of b alone
    FourElements x = each([&](int q) { return of_a(av.of[q]); }), y = each([&](int q) { return of_b(bv.of[q]); });
    if (const u32 met = bits_of(same) & a_in; Meets || met) {
      x = each([&](int q) {
        const Values there = Four::where(same, Four::pick(rank, bv.of[q]));
        return Minus ? av.of[q] - there : av.of[q] + there;
      });
      places = _bzhi_u32(places, static_cast<u32>(na + nb));
      const u32 twice = _pdep_u32(met, places) << 1;  // the places behind, of b's that a has too
      const u32 alone = _pext_u32(~twice, ~places) & b_in;
      j = pick(four_bytes(chosen_of.of[alone]), j), y = each([&](int q) { return Four::choose(alone, y.of[q]); });
      places = _pext_u32(places, ~twice);
      more = __builtin_popcount(alone);
    }
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(keys + n),
                        _mm256_permutevar8x32_epi32(_mm256_set_m128i(j, i), eight_bytes(orders.of[places])));
    for (int q = 0; q < G; ++q) Four::join(places, x.of[q], y.of[q], values[q] + n);
    a.at += na, b.at += nb, n += na + more;
  }

  /// Four of both are there.
  template <How how> [[gnu::always_inline]] void step() {
    const Keys i = a.four(), j = b.four();
    const FourElements av = whole(a), bv = whole(b);
    if constexpr (how == How::runs) {
      const i32 i_first = a.keys[a.at], i_last = a.keys[a.at + 3], j_first = b.keys[b.at], j_last = b.keys[b.at + 3];
      if (unguessed((i_last < j_first) | (j_last < i_first) | (bits_of(_mm_cmpeq_epi32(i, j)) == 15))) {
        const Keys not_a = _mm_cmpgt_epi32(i, j), not_b = _mm_cmpgt_epi32(j, i);  // all lanes, or none
        put(_mm_min_epi32(i, j), each([&](int q) {
              const Values x = Four::where_not(not_a, av.of[q]), y = Four::where_not(not_b, bv.of[q]);
              return Minus ? x - y : x + y;
            }));
        return a.at += 4 * unguessed(i_first <= j_first), b.at += 4 * unguessed(j_first <= i_first), void();
      }
    }
    // No further than both are known: what follows the shorter view may come in between.
    const u32 a_past = bits_of(_mm_cmpgt_epi32(i, _mm_shuffle_epi32(j, 0xff))),
              b_past = bits_of(_mm_cmpgt_epi32(j, _mm_shuffle_epi32(i, 0xff)));
    csr_add_rows<how == How::meets>(i, j, av, bv, a_past ^ 15, b_past ^ 15);
  }
  [[gnu::always_inline]] void rest_of_a(Keys i, const FourElements& v) {
    put(i, each([&](int q) { return of_a(v.of[q]); })), a.at += 4;
  }
  [[gnu::always_inline]] void rest_of_b(Keys j, const FourElements& v) {
    put(j, each([&](int q) { return of_b(v.of[q]); })), b.at += 4;
  }
  /// There may be less.
  [[gnu::always_inline]] void short_step() {
    const Keys a_here = a.here(), b_here = b.here(), i = a.template some<Near>(a_here),
               j = b.template some<Near>(b_here);
    const Keys last = _mm_min_epi32(_mm_shuffle_epi32(i, 0xff), _mm_shuffle_epi32(j, 0xff));
    csr_add_rows(i, j, some(a, a_here), some(b, b_here), bits_of(_mm_andnot_si128(_mm_cmpgt_epi32(i, last), a_here)),
                 bits_of(_mm_andnot_si128(_mm_cmpgt_epi32(j, last), b_here)));
  }

  template <How how> [[gnu::always_inline]] i64 steps() {
    i64 count = 0;
    if (Padded)
      for (; a.has_four() || b.has_four(); ++count) step<how>();
    else
      for (; a.has_four() && b.has_four(); ++count) step<how>();
    return count;
  }

  /// The whole of both, as these elements are likely to lie; gives what they say of the next.
  [[gnu::always_inline]] How all(How how) {
    const i64 before = a.at + b.at;
    const i64 count = how == How::runs    ? steps<How::runs>()
                      : how == How::meets ? steps<How::meets>()
                                          : steps<How::apart>();
    const i64 met = a.at + b.at - before - n;
    const How next = 16 * n <= 65 * count ? How::runs : 8 * met > count ? How::meets : How::apart;
    if (Padded) return short_step(), next;
    // One is nearly through: fours of the other that lie before what is left of it.
    while (a.at < a.stop && b.at < b.stop) {
      if (a.has_four() && a.keys[a.at + 3] < b.keys[b.at]) rest_of_a(a.four(), whole(a));
      else if (b.has_four() && b.keys[b.at + 3] < a.keys[a.at]) rest_of_b(b.four(), whole(b));
      else short_step();
    }
    while (a.has_four()) rest_of_a(a.four(), whole(a));
    while (b.has_four()) rest_of_b(b.four(), whole(b));
    while (a.at < a.stop || b.at < b.stop) short_step();
    return next;
  }
};

/// Rows that are one, of either matrix: so few that they, and the next ones, are near. Longer rows are alone.
inline constexpr i64 most_keys = 128, most_rows = 512;

/// n columns of a row, with its number above them; 16 are read and written.
template <bool Near> [[gnu::always_inline]] inline void number(const i32* crd, i64 n, i32 row, i32* keys) {
  if (Near) {
    for (i64 q = 0; q < n; ++q) keys[q] = crd[q] + row;
    return;
  }
  const auto eight = [&](i64 q) {
    _mm256_storeu_si256(
        reinterpret_cast<__m256i*>(keys + q),
        _mm256_add_epi32(_mm256_set1_epi32(row), _mm256_loadu_si256(reinterpret_cast<const __m256i*>(crd + q))));
  };
  eight(0), eight(8);
  for (i64 q = 16; q < n; q += 8) eight(q);
}

/// What is behind the last of keys.
inline void pad(i32* end) { _mm_storeu_si128(reinterpret_cast<__m128i*>(end), _mm_set1_epi32(beyond)); }

/// How many of the 8 keys before the e-th are above `last`.
static inline i64 above(const i32* keys, i64 e, i32 last) {
  return __builtin_popcount(static_cast<u32>(_mm256_movemask_ps(_mm256_castsi256_ps(_mm256_cmpgt_epi32(
      _mm256_loadu_si256(reinterpret_cast<const __m256i*>(keys + e - 8)), _mm256_set1_epi32(last))))));
}

template <bool Minus, bool Near, class V, class P>
static i64 united_some(i64 begin, i64 end, i64 columns, const P* apos, const i32* acrd, const V* avalues, const P* bpos,
                       const i32* bcrd, const V* bvalues, i32* crd, V* values, i64* ends, i64 n) {
  i32 a_keys[most_keys + 32], b_keys[most_keys + 32], before_keys[8 + 2 * most_keys + 32];
  i32* const keys = before_keys + 8;
  for (i64 k = -8; k < 0; ++k) keys[k] = -1;
  int bits = 0;  // of a column
  while (bits < 31 && i64{1} << bits < columns) ++bits;
  const i32 each = bits < 31 ? i32{1} << bits : 0, last_column = static_cast<i32>((u32{1} << bits) - 1);
  const i64 numbers = (i64{1} << (31 - bits)) - 1, rows_at_once = numbers < most_rows ? numbers : most_rows;
  How how = How::apart;
  for (i64 r = begin, s; r < end; r = s) {
    const i64 a_at = apos[r], b_at = bpos[r], limit = r + rows_at_once < end ? r + rows_at_once : end;
    i64 na = 0, nb = 0;
    i32 above_columns = 0;
    for (s = r; s < limit && apos[s + 1] - a_at <= most_keys && bpos[s + 1] - b_at <= most_keys;
         ++s, above_columns += each) {
      number<Near>(acrd + a_at + na, apos[s + 1] - a_at - na, above_columns, a_keys + na);
      number<Near>(bcrd + b_at + nb, bpos[s + 1] - b_at - nb, above_columns, b_keys + nb);
      na = apos[s + 1] - a_at, nb = bpos[s + 1] - b_at;
    }
    if (s == r) {
      ++s;
      Sum<Minus, Near, false, V> row{
          {acrd, {avalues}, a_at, apos[s]}, {bcrd, {bvalues}, b_at, bpos[s]}, crd + n, {values + n}};
      how = row.all(how);
      ends[r - begin] = n += row.n;
      continue;
    }
    pad(a_keys + na), pad(b_keys + nb);
    Sum<Minus, Near, !Near, V> rows{
        {a_keys, {avalues + a_at}, 0, na}, {b_keys, {bvalues + b_at}, 0, nb}, keys, {values + n}};
    how = rows.all(how);
    for (i64 q = 0; q < rows.n; q += 8)
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(crd + n + q),
                          _mm256_and_si256(_mm256_set1_epi32(last_column),
                                           _mm256_loadu_si256(reinterpret_cast<const __m256i*>(keys + q))));
    // A row ends behind all of both, less what both have.
    if (rows.n == rows.a.stop + rows.b.stop)
      for (i64 k = r; k < s; ++k) ends[k - begin] = n + (apos[k + 1] - a_at) + (bpos[k + 1] - b_at);
    else
      for (i64 k = r, e = 0, last = last_column; k < s; ++k, last += each) {
        e += (apos[k + 1] - apos[k]) + (bpos[k + 1] - bpos[k]);
        if (e > rows.n) e = rows.n;
        for (i64 later = 8; later == 8; e -= later) later = above(keys, e, static_cast<i32>(last));
        ends[k - begin] = n + e;
      }
    n += rows.n;
  }
  return n;
}

#endif

}  // namespace strata::kernels::STRATA_ISA
