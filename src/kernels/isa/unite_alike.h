#pragma once
// The sum of two CSR matrices whose rows come in blocks: where rows of both have the columns of the rows before, as in blocks of 4 x 4, what
// is compared for one serves for up to four. (Which block comes next is a guess of the core: it is made once for all of them.)
#include "kernels/isa/unite_fours.h"

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
    const __m256i i = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(crd + here + k)), j = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(crd + next + k));
    same &= static_cast<u32>(_mm256_movemask_ps(_mm256_castsi256_ps(_mm256_cmpeq_epi32(i, j)))) | (n - k < 8 ? ~0u << (n - k) : 0);
  }
  return (same & 0xff) == 0xff;
}

/// Of sixteen rows, do more than half have the columns of the row before, in both?
template <class P> static bool come_in_blocks(i64 begin, i64 end, const P* apos, const i32* acrd, const P* bpos, const i32* bcrd) {
  constexpr i64 places = 16;
  if (end - begin < 2 * places) return false;
  i64 found = 0;
  for (i64 s = 0; s < places; ++s) {
    const i64 r = begin + (end - begin - 2) * s / (places - 1);
    const bool some = apos[r + 1] > apos[r] && bpos[r + 1] > bpos[r];
    found += some && as_before<true>(apos, acrd, r) && as_before<true>(bpos, bcrd, r);
  }
  return found > places / 2;
}

/// The other rows of a group behind the first, from whose `n` elements on crd and values are: its columns, and their values.
template <int G, class V, class H> [[gnu::always_inline]] static inline void place_group(i32* crd, V* values, i64 n, const H& held) {
  const auto eight = [&](int q, i64 k) __attribute__((always_inline)) {
    const __m256i columns = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(crd + k));  // (in a short row they overlap their copy)
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(crd + q * n + k), columns), __builtin_memcpy(values + q * n + k, held[q - 1] + k, 8 * sizeof(V));
  };
  if (n < 8) {  // what is written behind a row is written anew by the next
    for (int q = 1; q < G; ++q) eight(q, 0);
    return;
  }
  for (i64 k = 0; k + 8 < n; k += 8)
    for (int q = 1; q < G; ++q) eight(q, k);
  for (int q = 1; q < G; ++q) eight(q, n - 8);
}

/// G rows from r on, which have the same columns; gives where the last one ends.
template <bool Minus, bool Near, int G, class V, class P>
static i64 united_group(i64 r, const P* apos, const i32* acrd, const V* avalues, const P* bpos, const i32* bcrd, const V* bvalues, i32* crd, V* values, i64* ends, i64 n, bool& runs) {
  V held[G > 1 ? G - 1 : 1][2 * most_keys + 32];
  Sum<Minus, Near, V, G> rows{{acrd, {}, apos[r], apos[r + 1]}, {bcrd, {}, bpos[r], bpos[r + 1]}, crd + n, {}};
  for (int q = 0; q < G; ++q) {
    rows.a.values[q] = avalues + (apos[r + q] - apos[r]), rows.b.values[q] = bvalues + (bpos[r + q] - bpos[r]);
    rows.values[q] = q == 0 ? values + n : held[q - 1];
  }
  runs = rows.all(runs);
  if constexpr (G > 1) place_group<G>(crd + n, values + n, rows.n, held);
  for (int q = 0; q < G; ++q) ends[q] = n += rows.n;
  return n;
}

template <bool Minus, bool Near, class V, class P>
static i64 united_blocks(i64 begin, i64 end, const P* apos, const i32* acrd, const V* avalues, const P* bpos, const i32* bcrd, const V* bvalues, i32* crd, V* values, i64* ends, i64 n) {
  bool runs = true;
  for (i64 r = begin; r < end;) {
    i64 g = 1;
    if (apos[r + 1] - apos[r] <= most_keys && bpos[r + 1] - bpos[r] <= most_keys)
      while (g < 4 && r + g < end && as_before<Near>(apos, acrd, r + g - 1) && as_before<Near>(bpos, bcrd, r + g - 1)) ++g;
    const auto group = [&]<int G>() { n = united_group<Minus, Near, G>(r, apos, acrd, avalues, bpos, bcrd, bvalues, crd, values, ends + (r - begin), n, runs); };
    if (g == 4) group.template operator()<4>();
    else if (g == 3) group.template operator()<3>();
    else if (g == 2) group.template operator()<2>();
    else group.template operator()<1>();
    r += g;
  }
  return n;
}

template <bool Minus, class V, class P>
static i64 united_rows(i64 begin, i64 end, i64 columns, const P* apos, const i32* acrd, const V* avalues, const P* bpos, const i32* bcrd, const V* bvalues, i32* crd, V* values, i64* ends) {
  i64 safe = end;  // rows before this one have 16 more elements behind them
  while (safe > begin && (static_cast<i64>(apos[safe]) + 16 > apos[end] || static_cast<i64>(bpos[safe]) + 16 > bpos[end])) --safe;
  if (come_in_blocks(begin, end, apos, acrd, bpos, bcrd)) {
    const i64 n = united_blocks<Minus, false>(begin, safe, apos, acrd, avalues, bpos, bcrd, bvalues, crd, values, ends, 0);
    return united_blocks<Minus, true>(safe, end, apos, acrd, avalues, bpos, bcrd, bvalues, crd, values, ends + (safe - begin), n);
  }
  const i64 n = united_some<Minus, false>(begin, safe, columns, apos, acrd, avalues, bpos, bcrd, bvalues, crd, values, ends, 0);
  return united_some<Minus, true>(safe, end, columns, apos, acrd, avalues, bpos, bcrd, bvalues, crd, values, ends + (safe - begin), n);
}

#endif

}  // namespace strata::kernels::STRATA_ISA
