#pragma once
// The sum of two CSR matrices whose rows come in blocks: where rows of both have the columns of the rows before, as in
// blocks of 4 x 4, what is compared for one serves for up to four. (Which block comes next is chosen once for all of
// them.)
#include "kernels/isa/csr_add_four_rows.h"

namespace strata::kernels::STRATA_ISA {

#if defined(__AVX2__) && defined(__BMI2__) && !defined(__AVX512F__)

/// Has row r + 1 the columns of row r? `Near`: nothing is read behind it, otherwise up to 16 elements.
template <bool Near, class P> static inline bool as_before(const P* pos, const i32* crd, i64 r) {
  const i64 here = pos[r], next = pos[r + 1], n = next - here;
  if (static_cast<i64>(pos[r + 2]) - next != n) return false;
  if (n == 0) return true;
  if (crd[here] != crd[next] || crd[next - 1] != crd[next + n - 1]) return false;
  if (Near) {
    for (i64 k = 0; k < n; ++k)
      if (crd[here + k] != crd[next + k]) return false;
    return true;
  }
  u32 same = ~0u;
  for (i64 k = 0; k < n; k += 8) {
    const __m256i i = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(crd + here + k)),
                  j = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(crd + next + k));
    same &= static_cast<u32>(_mm256_movemask_ps(_mm256_castsi256_ps(_mm256_cmpeq_epi32(i, j)))) |
            (n - k < 8 ? ~0u << (n - k) : 0);
  }
  return (same & 0xff) == 0xff;
}

/// Have the three rows behind row r its columns? (What as_before says one by one; up to 16 elements are read behind
/// them.)
template <class P> static inline bool four_are_identical(const P* pos, const i32* crd, i64 r) {
  const i64 here = pos[r], n = pos[r + 1] - here;
  if (static_cast<i64>(pos[r + 2]) - here != 2 * n || static_cast<i64>(pos[r + 3]) - here != 3 * n ||
      static_cast<i64>(pos[r + 4]) - here != 4 * n)
    return false;
  const auto differ = [&](i64 k) {
    const auto row = [&](i64 q) {
      return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(crd + here + q * n + k));
    };
    const __m256i first = row(0), same = _mm256_and_si256(_mm256_and_si256(_mm256_cmpeq_epi32(first, row(1)),
                                                                           _mm256_cmpeq_epi32(first, row(2))),
                                                          _mm256_cmpeq_epi32(first, row(3)));
    return _bzhi_u32(static_cast<u32>(_mm256_movemask_ps(_mm256_castsi256_ps(same))) ^ 0xff,
                     static_cast<u32>(n - k < 0 ? 0 : n - k));
  };
  u32 some = differ(0) | differ(8);
  for (i64 k = 16; k < n; k += 8) some |= differ(k);
  return some == 0;
}

/// Of sixteen rows, four each in four places, have more than five the columns of the row before, in both? (In blocks of
/// two half of them do, less where some are empty. Sixteen places would take as long to read as a tenth of the sum.)
template <class P> static bool come_in_blocks(i64 begin, i64 end, const P* apos, const i32* acrd, const P* bpos,
                                              const i32* bcrd) {
  constexpr i64 places = 4, rows = 4;
  if (end - begin < 2 * places * rows) return false;
  i64 found = 0;
  for (i64 s = 0; s < places; ++s)
    for (i64 k = 0; k < rows; ++k) {
      const i64 r = begin + (end - begin - rows - 1) * s / (places - 1) + k;
      const bool some = apos[r + 1] > apos[r] && bpos[r + 1] > bpos[r];
      found += some && as_before<true>(apos, acrd, r) && as_before<true>(bpos, bcrd, r);
    }
  return found > 5;
}

/// The other rows of a group behind the first, from whose `n` elements on crd and values are: its columns, and their
/// values.
template <int G, class V, class H> [[gnu::always_inline]] static inline void place_group(i32* crd, V* values, i64 n,
                                                                                         const H& held) {
  const auto eight = [&](int q, i64 k) __attribute__((always_inline)) {
    const __m256i columns =
        _mm256_loadu_si256(reinterpret_cast<const __m256i*>(crd + k));  // (in a short row they overlap their copy)
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(crd + q * n + k), columns),
        __builtin_memcpy(values + q * n + k, held[q - 1] + k, 8 * sizeof(V));
  };
  if (n < 8) {  // what is written behind a row is written anew by the next
    for (int q = 1; q < G; ++q) eight(q, 0);
    return;
  }
  for (i64 k = 0; k + 8 < n; k += 8)
    for (int q = 1; q < G; ++q) eight(q, k);
  for (int q = 1; q < G; ++q) eight(q, n - 8);
}

/// G rows with the same columns, which come in fours: those are the same in both, or lie before the other's. They go to
/// their places as if none were in both, and closer if some are. Gives the elements of a row, or -1: nothing was there
/// to be had.
template <bool Minus, int G, class V>
static i64 united_in_fours(const i32* a_keys, i64 na, const V* const* a_values, const i32* b_keys, i64 nb,
                           const V* const* b_values, i32* crd, V* values) {
  using Four = FourOf<V>;
  const i64 most = na + nb;
  i64 n = 0;
  for (i64 p = 0, q = 0; p + q < most; n += 4) {
    const Keys i = _mm_loadu_si128(reinterpret_cast<const Keys*>(a_keys + p)),
               j = _mm_loadu_si128(reinterpret_cast<const Keys*>(b_keys + q));
    const i32 i_none = beyond & static_cast<i32>((na - 1 - p) >> 63),
              j_none = beyond & static_cast<i32>((nb - 1 - q) >> 63);
    const i32 i_first = a_keys[p] | i_none, i_last = a_keys[p + 3] | i_none, j_first = b_keys[q] | j_none,
              j_last = b_keys[q + 3] | j_none;
    if (!unguessed((i_last < j_first) | (j_last < i_first) | (bits_of(_mm_cmpeq_epi32(i, j)) == 15))) return -1;
    const i32 of_a = unguessed(i_first <= j_first), of_b = unguessed(j_first <= i_first);
    const Keys not_a = _mm_set1_epi32(of_a - 1), not_b = _mm_set1_epi32(of_b - 1), keys = _mm_blendv_epi8(i, j, not_a);
    for (int k = 0; k < G; ++k) {
      const auto x = Four::where_not(not_a, Four::template load<false>(Keys{}, a_values[k] + p)),
                 y = Four::where_not(not_b, Four::template load<false>(Keys{}, b_values[k] + q));
      _mm_storeu_si128(reinterpret_cast<Keys*>(crd + k * most + n), keys),
          Four::store(values + k * most + n, Minus ? x - y : x + y);
    }
    p += 4 * of_a, q += 4 * of_b;
  }
  if (n < most)
    for (int k = 1; k < G; ++k)
      for (i64 at = 0; at < n; at += 4) {
        const Keys keys = _mm_loadu_si128(reinterpret_cast<const Keys*>(crd + k * most + at));
        const auto x = Four::template load<false>(Keys{}, values + k * most + at);
        _mm_storeu_si128(reinterpret_cast<Keys*>(crd + k * n + at), keys), Four::store(values + k * n + at, x);
      }
  return n;
}

/// G rows from r on, which have the same columns; gives where the last one ends.
template <bool Minus, bool Near, int G, class V, class P>
static i64 united_group(i64 r, const P* apos, const i32* acrd, const V* avalues, const P* bpos, const i32* bcrd,
                        const V* bvalues, i32* crd, V* values, i64* ends, i64 n, How& how, bool& in_four_rows) {
  const i64 a_at = apos[r], na = apos[r + 1] - a_at, b_at = bpos[r], nb = bpos[r + 1] - b_at;
  Sum<Minus, Near, false, V, G> rows{{acrd + a_at, {}, 0, na}, {bcrd + b_at, {}, 0, nb}, crd + n, {}};
  for (int q = 0; q < G; ++q) rows.a.values[q] = avalues + apos[r + q], rows.b.values[q] = bvalues + bpos[r + q];
  i64 each = -1;
  if (!Near && in_four_rows && (na | nb) % 4 == 0) {
    each =
        united_in_fours<Minus, G>(acrd + a_at, na, rows.a.values, bcrd + b_at, nb, rows.b.values, crd + n, values + n);
    in_four_rows = each >= 0;
  }
  if (each < 0) {
    V held[G > 1 ? G - 1 : 1][2 * most_keys + 32];
    for (int q = 0; q < G; ++q) rows.values[q] = q == 0 ? values + n : held[q - 1];
    how = rows.all(how), each = rows.n;
    if constexpr (G > 1) place_group<G>(crd + n, values + n, each, held);
  }
  for (int q = 0; q < G; ++q) ends[q] = n += each;
  return n;
}

template <bool Minus, bool Near, class V, class P>
static i64 united_blocks(i64 begin, i64 end, const P* apos, const i32* acrd, const V* avalues, const P* bpos,
                         const i32* bcrd, const V* bvalues, i32* crd, V* values, i64* ends, i64 n) {
  How how = How::runs;
  bool in_four_rows = true;
  for (i64 r = begin; r < end;) {
    const bool few = apos[r + 1] - apos[r] <= most_keys && bpos[r + 1] - bpos[r] <= most_keys;
    i64 g = 1;
    if (!Near && few && r + 4 <= end && four_are_identical(apos, acrd, r) && four_are_identical(bpos, bcrd, r)) g = 4;
    while (few && g < 4 && r + g < end && as_before<Near>(apos, acrd, r + g - 1) &&
           as_before<Near>(bpos, bcrd, r + g - 1))
      ++g;
    const auto group = [&]<int G>() {
      n = united_group<Minus, Near, G>(r, apos, acrd, avalues, bpos, bcrd, bvalues, crd, values, ends + (r - begin), n,
                                       how, in_four_rows);
    };
    if (g == 4) group.template operator()<4>();
    else if (g == 3) group.template operator()<3>();
    else if (g == 2) group.template operator()<2>();
    else group.template operator()<1>();
    r += g;
  }
  return n;
}

template <bool Minus, class V, class P>
static i64 united_rows(i64 begin, i64 end, i64 columns, const P* apos, const i32* acrd, const V* avalues, const P* bpos,
                       const i32* bcrd, const V* bvalues, i32* crd, V* values, i64* ends) {
  i64 safe = end;  // rows before this one have 16 more elements behind them
  while (safe > begin &&
         (static_cast<i64>(apos[safe]) + 16 > apos[end] || static_cast<i64>(bpos[safe]) + 16 > bpos[end]))
    --safe;
  if (come_in_blocks(begin, end, apos, acrd, bpos, bcrd)) {
    const i64 n =
        united_blocks<Minus, false>(begin, safe, apos, acrd, avalues, bpos, bcrd, bvalues, crd, values, ends, 0);
    return united_blocks<Minus, true>(safe, end, apos, acrd, avalues, bpos, bcrd, bvalues, crd, values,
                                      ends + (safe - begin), n);
  }
  const i64 n =
      united_some<Minus, false>(begin, safe, columns, apos, acrd, avalues, bpos, bcrd, bvalues, crd, values, ends, 0);
  return united_some<Minus, true>(safe, end, columns, apos, acrd, avalues, bpos, bcrd, bvalues, crd, values,
                                  ends + (safe - begin), n);
}

#endif

}  // namespace strata::kernels::STRATA_ISA
