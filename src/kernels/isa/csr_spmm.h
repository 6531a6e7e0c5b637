#pragma once
// CSR times several columns, row by row.
#include "kernels/isa/places.h"
#include "kernels/isa/streaming_stores.h"

namespace strata::kernels::STRATA_ISA {

/// Where the rows of a dense matrix lie that a product needs.
enum class RowLocality {
  near,       ///< in the core's own caches: asking early costs more than it hides
  nearest,    ///< the same, where A's rows are long: what is waited for are A's own bytes, which are asked for line by
              ///< line
  far,        ///< asked for 24 elements (12 KB at most) ahead
  twice,      ///< asked for into the second level, and from there into the first
  scattered,  ///< in memory, in no order (or, by_order, in blocks): earlier still, into the second level, which waits
              ///< for more lines at a time than the first
};

/// Elements ahead for those. (64 to 128 are alike on Zen 4; on Zen 3 rows of blocks take 0.92 to 1 of the time with 96
/// in place of 64.)
inline constexpr i64 far_ahead = vector_bytes == 64 ? scatter_distance : 96;

/// Elements of a row from which on it pays to ask for A's lines one by one (where A comes from memory and the columns
/// are few: 1.2 times as fast; level in a cache; 5 to 15 % slower where rows are short).
inline constexpr i64 long_row = 128;

/// add(chain, element) for elements from k on, to each chain in turn, while there is one for each; the first that is
/// left.
template <RowLocality R, int Chains, class V, class C, class F>
[[gnu::always_inline]] static inline i64 in_chains(i64 k, i64 stop, const C* crd, const V* values, const F& add) {
  if constexpr (R == RowLocality::nearest) {
    constexpr int few = 8;
    constexpr i64 ahead = 2048;
    for (; k + few <= stop; k += few) {
      prefetch(reinterpret_cast<const char*>(values + k) + ahead);
      prefetch(reinterpret_cast<const char*>(crd + k) + ahead);
#pragma GCC unroll 8
      for (int u = 0; u < few; ++u) add(u % Chains, k + u);
    }
  }
  if constexpr (Chains > 1)
    for (; k + Chains <= stop; k += Chains)
#pragma GCC unroll 4
      for (int u = 0; u < Chains; ++u) add(u, k + u);
  return k;
}

// The vectors of one output row stay in registers while the row's elements stream by. Few vectors would wait for each
// other's sums where x is near: then there are more chains. `leaves`: the row goes past the caches from here.
template <RowLocality R, int N, template <int, class> class Place, class V, class C>
static inline void row_panel(i64 k, i64 stop, i64 last, const C* crd, const V* values, const V* x, V* out,
                             [[maybe_unused]] bool streams_rows, const Dense<V>& d) {
  constexpr int chains = (R == RowLocality::near || R == RowLocality::nearest) && N < 4 ? 4 / N : 1,
                M = Place<N, V>::vectors;
  constexpr i64 distance = R == RowLocality::scattered ? far_ahead
                           : R == RowLocality::twice   ? 16
                           : N * vector_bytes > 512    ? 12
                                                       : 24;
  const Place<N, V> place(x, d.columns - (x - d.x));
  x = place.begin(x);
  Vec<V> acc[chains][M];  // (Loops over them are unrolled, or GCC keeps them in memory.)
#pragma GCC unroll 4
  for (int u = 0; u < chains; ++u)
#pragma GCC unroll 17
    for (int q = 0; q < M; ++q) acc[u][q] = Vec<V>{};
  const auto add = [&](int chain, i64 at) __attribute__((always_inline)) {
    const V* row = x + static_cast<i64>(crd[at]) * d.ldx;
    const Vec<V> v = splat(values[at]);
#pragma GCC unroll 17
    for (int q = 0; q < M; ++q) acc[chain][q] += v * place.read(row, q);
  };
  k = in_chains<R, chains>(k, stop, crd, values, add);
#if defined(__AVX512F__)
  if constexpr (chains > 1) {
    // How much is left of a row is what a core cannot guess: elements of the next row stand in, and do not count.
    // (Short rows: 5 to 15 %.) Behind the last row nothing is read.
    const bool more = k + chains <= last;
#pragma GCC unroll 4
    for (int u = 0; u < chains - 1; ++u) {
      if (more) {
        const V* row = x + static_cast<i64>(crd[k + u]) * d.ldx;
#pragma GCC unroll 17
        for (int q = 0; q < M; ++q) acc[u][q] = sum_if(k + u < stop, acc[u][q], values[k + u], place.read(row, q));
      } else if (k + u < stop) {
        add(u, k + u);
      }
    }
    k = stop;
  }
#endif
  for (; k < stop; ++k) {
    if constexpr (R == RowLocality::far || R == RowLocality::twice || R == RowLocality::scattered) {
      const auto ask = [&]<bool Second>(i64 ahead) __attribute__((always_inline)) {
        prefetch_row<M, Second>(x + static_cast<i64>(crd[k + ahead < last ? k + ahead : k]) * d.ldx, is_astray(x));
      };
      ask.template operator()<R == RowLocality::scattered>(distance);
      if constexpr (R == RowLocality::twice) ask.template operator()<true>(2 * distance);
    }
    add(0, k);
  }
#pragma GCC unroll 2
  for (int u = chains / 2; u > 0; u /= 2)
#pragma GCC unroll 2
    for (int w = 0; w < u; ++w)
#pragma GCC unroll 17
      for (int q = 0; q < M; ++q) acc[w][q] += acc[w + u][q];
  const Vec<V> a = splat(d.alpha);
#if defined(__AVX2__) && !defined(__AVX512F__)
  if (streams_rows) {
#pragma GCC unroll 17
    for (int q = 0; q < M; ++q) acc[0][q] *= a;
#pragma GCC unroll 17
    for (int q = 0; q < M; ++q) stream(out + q * lanes<V>, Place<N, V>::whole(acc[0], q));
    return;
  }
#endif
  out = place.begin(out);
#pragma GCC unroll 17
  for (int q = 0; q < M; ++q) {
    Vec<V> r = a * acc[0][q];
    if (d.beta != V(0)) r += splat(d.beta) * place.read(out, q);
    place.write(out, q, r);
  }
}

#if defined(__AVX512F__)
// Columns of one row, fewer than two vectors.
template <RowLocality R, class Place, class V, class C>
[[gnu::always_inline]] static inline void narrow_panel(i64 k, i64 stop, i64 last, const C* crd, const V* values,
                                                       const V* x, V* out, i64 ldx, const Place& place,
                                                       const Dense<V>& d) {
  constexpr int parts = Place::parts, chains = parts == 1 ? 4 : 2;
  constexpr bool asks = R == RowLocality::scattered || R == RowLocality::twice;
  constexpr i64 distance = R == RowLocality::scattered ? far_ahead : 24;
  using Part = typename Place::type;
  Part acc[chains][parts] = {};
  const auto add = [&](int chain, i64 at) __attribute__((always_inline)) {
    if constexpr (asks) {
      constexpr int bytes = parts * static_cast<int>(sizeof(Part));
      const V* later = x + static_cast<i64>(crd[at + distance < last ? at + distance : at]) * ldx;
      prefetch_bytes<bytes, R == RowLocality::scattered>(later, bytes >= 64);
    }
    const V* row = x + static_cast<i64>(crd[at]) * ldx;
#pragma GCC unroll 4
    for (int q = 0; q < parts; ++q) acc[chain][q] += values[at] * place.read(row, q);
  };
  for (k = in_chains<R, chains>(k, stop, crd, values, add); k < stop; ++k) add(0, k);
  place.template finish<chains>(acc, out, d.alpha, d.beta);
}

/// What makes a difference there.
constexpr RowLocality in_narrow(RowLocality r) { return r == RowLocality::far ? RowLocality::near : r; }

// The last columns of one row, from `c` on.
template <RowLocality R, class V, class C>
[[gnu::noinline]] static void narrow_tail(i64 start, i64 stop, i64 last, const C* crd, const V* values, V* out, i64 c,
                                          const Dense<V>& d) {
  with_narrow<V>(d.columns - c, [&](const auto& place) {
    narrow_panel<R>(start, stop, last, crd, values, d.x + c, out + c, d.ldx, place, d);
  });
}

// All columns, where there are no more.
template <RowLocality R, class Place, class V, class P, class C>
static void csr_narrow(i64 begin, i64 end, const P* pos, const C* crd, const V* values, const Dense<V>& given,
                       const Place& place) {
  const Dense<V> d = given;
  const i64 last = begin < end ? static_cast<i64>(pos[end]) : 0;
  for (i64 i = begin; i < end; ++i) {
    const i64 start = pos[i];
    prefetch_stream(values + start);
    prefetch_stream(crd + start);
    if (d.along) prefetch_second(d.x + (i + d.lead) * d.ldx);
    narrow_panel<R>(start, static_cast<i64>(pos[i + 1]), last, crd, values, d.x, d.out + i * d.ldo, d.ldx, place, d);
  }
}
#endif

// Columns of one row, by the widest panels that fit.
template <RowLocality R, template <int, class> class Place, class V, class C>
static inline void any_columns(i64 start, i64 stop, i64 last, const C* crd, const V* values, V* out, bool streams_rows,
                               const Dense<V>& d) {
  i64 c = 0;
#define STRATA_PANELS(N, PLACE)                                \
  for (; c + (N) * lanes<V> <= d.columns; c += (N) * lanes<V>) \
  row_panel<R, N, PLACE>(start, stop, last, crd, values, d.x + c, out + c, streams_rows, d)
  if constexpr (max_accumulators >= 16) STRATA_PANELS(16, Place);
  STRATA_PANELS(8, Place);
  STRATA_PANELS(4, Place);
  STRATA_PANELS(2, ByVectors);
#if defined(__AVX512F__)
  if (c < d.columns) narrow_tail<in_narrow(R)>(start, stop, last, crd, values, out, c, d);
#elif defined(__AVX2__)
  STRATA_PANELS(1, ByVectors);
  if (c < d.columns) row_panel<R, 1, Tail>(start, stop, last, crd, values, d.x + c, out + c, streams_rows, d);
#else
  STRATA_PANELS(1, ByVectors);
  // The last columns, fewer than one vector: one by one, each in two sums.
  for (; c < d.columns; ++c) {
    V s0 = 0, s1 = 0;
    i64 k = start;
    for (; k + 2 <= stop; k += 2) {
      s0 += values[k] * d.x[static_cast<i64>(crd[k]) * d.ldx + c];
      s1 += values[k + 1] * d.x[static_cast<i64>(crd[k + 1]) * d.ldx + c];
    }
    for (; k < stop; ++k) s0 += values[k] * d.x[static_cast<i64>(crd[k]) * d.ldx + c];
    finish(out + c, s0 + s1, d.alpha, d.beta);
  }
#endif
#undef STRATA_PANELS
}

// N: vectors that the columns fill; 0 where that is known at run time only.
template <RowLocality R, int N, template <int, class> class Place, class V, class P, class C>
static void csr_spmm(i64 begin, i64 end, const P* pos, const C* crd, const V* values, const Dense<V>& d) {
  StreamingStores<V> stream(d.out + begin * d.ldo);
  const bool streams_rows = d.streaming && streams_by_rows(d.out, d.columns * static_cast<i64>(sizeof(V))),
             gathered = d.streaming && !streams_rows;
  const i64 last = begin < end ? static_cast<i64>(pos[end]) : 0;
  for (i64 i = begin; i < end; ++i) {
    const i64 start = pos[i], stop = pos[i + 1];
    if constexpr (R != RowLocality::nearest) {
      prefetch_stream(values + start);
      prefetch_stream(crd + start);
    }
    if (d.along) prefetch_elements_second(d.x + (i + d.lead) * d.ldx, d.columns);
    V* out = gathered ? stream.next() : d.out + i * d.ldo;
    if constexpr (N > 0) row_panel<R, N, Place>(start, stop, last, crd, values, d.x, out, streams_rows, d);
    else any_columns<R, Place>(start, stop, last, crd, values, out, streams_rows, d);
    if (gathered) stream.push(d.columns);
  }
  if (d.streaming) stream.finish();
}

// Few columns, as most products have them: not to choose a panel for each row is 5 to 12 % where rows are short.
template <RowLocality R, template <int, class> class Place, class V, class P, class C>
static void csr_widths(i64 begin, i64 end, const P* pos, const C* crd, const V* values, const Dense<V>& d) {
  if (d.columns == lanes<V>) csr_spmm<R, 1, Place>(begin, end, pos, crd, values, d);
  else if (d.columns == 2 * lanes<V>) csr_spmm<R, 2, Place>(begin, end, pos, crd, values, d);
  else if (d.columns == 4 * lanes<V>) csr_spmm<R, 4, Place>(begin, end, pos, crd, values, d);
  else csr_spmm<R, 0, Place>(begin, end, pos, crd, values, d);
}

template <RowLocality R, class V, class P, class C>
static void csr_places(i64 begin, i64 end, const P* pos, const C* crd, const V* values, const Dense<V>& d) {
#if defined(__AVX512F__)
  if (!d.streaming && d.columns < 2 * lanes<V>)
    return with_narrow<V>(d.columns,
                          [&](const auto& place) { csr_narrow<in_narrow(R)>(begin, end, pos, crd, values, d, place); });
#endif
#if defined(__AVX2__)
  if (by_lines(d.x, sizeof(V), d.ldx, d.columns)) return csr_widths<R, ByLines>(begin, end, pos, crd, values, d);
#endif
  csr_widths<R, ByVectors>(begin, end, pos, crd, values, d);
}

template <class V, class P, class C>
static void csr_rows(i64 begin, i64 end, const P* pos, const C* crd, const V* values, const Dense<V>& d) {
  const bool long_rows = static_cast<i64>(pos[end]) - static_cast<i64>(pos[begin]) >= long_row * (end - begin);
  if (d.near && long_rows) csr_places<RowLocality::nearest>(begin, end, pos, crd, values, d);
  else if (d.near) csr_places<RowLocality::near>(begin, end, pos, crd, values, d);
  else if (d.scattered) csr_places<RowLocality::scattered>(begin, end, pos, crd, values, d);
  else if (d.twice) csr_places<RowLocality::twice>(begin, end, pos, crd, values, d);
  else csr_places<RowLocality::far>(begin, end, pos, crd, values, d);
}

}  // namespace strata::kernels::STRATA_ISA
