#pragma once
#include "kernels/isa/places.h"
#include "kernels/isa/streaming_stores.h"

namespace strata::kernels::STRATA_ISA {

// G diagonals in one sweep over rows [lo, hi), all of them inside the matrix there: out is written once for all of
// them. No software prefetch: G streams of some pages each are what the hardware's is made for (25 % faster without,
// also from memory).
template <int G, bool Fresh, class V>
static inline void dia_sweep(i64 lo, i64 hi, const V* const* a, const V* const* x, V* out, V alpha) {
  constexpr int L = lanes<V>;
  const Vec<V> av = splat(alpha);
  i64 i = lo;
  for (; i + 2 * L <= hi; i += 2 * L) {
    Vec<V> s = Vec<V>{}, t = Vec<V>{};
    for (int g = 0; g < G; ++g) {
      s += load(a[g] + i) * load(x[g] + i);
      t += load(a[g] + i + L) * load(x[g] + i + L);
    }
    store(out + i, Fresh ? av * s : load(out + i) + av * s);
    store(out + i + L, Fresh ? av * t : load(out + i + L) + av * t);
  }
  for (; i < hi; ++i) {
    V s = 0;
    for (int g = 0; g < G; ++g) s += a[g][i] * x[g][i];
    out[i] = Fresh ? alpha * s : out[i] + alpha * s;
  }
}

template <bool Fresh, class V>
static void dia_sweeps(int n, i64 lo, i64 hi, const V* const* a, const V* const* x, V* out, V alpha) {
  switch (n) {
    case 8: return dia_sweep<8, Fresh>(lo, hi, a, x, out, alpha);
    case 7: return dia_sweep<7, Fresh>(lo, hi, a, x, out, alpha);
    case 6: return dia_sweep<6, Fresh>(lo, hi, a, x, out, alpha);
    case 5: return dia_sweep<5, Fresh>(lo, hi, a, x, out, alpha);
    case 4: return dia_sweep<4, Fresh>(lo, hi, a, x, out, alpha);
    case 3: return dia_sweep<3, Fresh>(lo, hi, a, x, out, alpha);
    case 2: return dia_sweep<2, Fresh>(lo, hi, a, x, out, alpha);
    case 1: return dia_sweep<1, Fresh>(lo, hi, a, x, out, alpha);
  }
}

// Rows are cut so that the slice of `out` stays in L1 while all diagonals pass over it: first those that cover the
// whole slice, by groups, then those that begin or end in it.
template <class V>
static void dia_spmv(i64 begin, i64 end, const i64* offsets, i64 diagonals, const V* values, i64 stride, bool by_row,
                     i64 cols, const Dense<V>& d) {
  constexpr i64 tile = 2048;
  constexpr int group = 8;
  for (i64 t = begin; t < end; t += tile) {
    const i64 stop = t + tile < end ? t + tile : end;
    bool fresh = d.beta == V(0);
    if (!fresh && d.beta != V(1))
      for (i64 i = t; i < stop; ++i) d.out[i] *= d.beta;
    const V *a[group], *x[group];
    int n = 0;
    bool partial = false;
    const auto flush = [&] {
      if (n == 0) return;
      if (fresh) dia_sweeps<true>(n, t, stop, a, x, d.out, d.alpha);
      else dia_sweeps<false>(n, t, stop, a, x, d.out, d.alpha);
      fresh = false;
      n = 0;
    };
    const auto aim = [&](i64 k) {
      a[n] = values + k * stride + (by_row ? 0 : offsets[k]);
      x[n] = d.x + offsets[k];
    };
    for (i64 k = 0; k < diagonals; ++k) {
      const i64 o = offsets[k];
      if (t < -o || stop > cols - o) {
        partial = partial || (stop > -o && t < cols - o);
        continue;
      }
      aim(k);
      if (++n == group) flush();
    }
    flush();
    if (fresh)
      for (i64 i = t; i < stop; ++i) d.out[i] = 0;
    for (i64 k = 0; partial && k < diagonals; ++k) {
      const i64 o = offsets[k], first = t > -o ? t : -o, last = stop < cols - o ? stop : cols - o;
      if (first >= last || (first == t && last == stop)) continue;
      aim(k);
      dia_sweep<1, false>(first, last, a, x, d.out, d.alpha);
    }
  }
}

// N vectors of a row of the result: what all diagonals add to it. Inside: all of them are in the matrix there.
template <int N, bool Inside, template <int, class> class Place, class V>
static inline void dia_row_panel(i64 i, const i64* offsets, i64 diagonals, const V* values, i64 stride, bool by_row,
                                 i64 cols, const V* x, V* out, const Dense<V>& d) {
  constexpr int M = Place<N, V>::vectors;
  const Place<N, V> place(x, d.columns - (x - d.x));
  const i64 ldx = d.ldx;
  const V* const base = place.begin(x);
  Vec<V> acc[M];
#pragma GCC unroll 17
  for (int q = 0; q < M; ++q) acc[q] = Vec<V>{};
  for (i64 k = 0; k < diagonals; ++k) {
    const i64 o = offsets[k];
    if (!Inside && (i + o < 0 || i + o >= cols)) continue;
    const Vec<V> v = splat(values[i + k * stride + (by_row ? 0 : o)]);
    const V* row = base + (i + o) * ldx;
#pragma GCC unroll 17
    for (int q = 0; q < M; ++q) acc[q] += v * place.read(row, q);
  }
  const Vec<V> alpha = splat(d.alpha);
  const V beta = d.beta;
  out = place.begin(out);
#pragma GCC unroll 17
  for (int q = 0; q < M; ++q) {
    Vec<V> r = alpha * acc[q];
    if (beta != V(0)) r += splat(beta) * place.read(out, q);
    place.write(out, q, r);
  }
}

template <bool Inside, template <int, class> class Place, class V>
static inline void dia_row(i64 i, const i64* offsets, i64 diagonals, const V* values, i64 stride, bool by_row, i64 cols,
                           V* out, const Dense<V>& d) {
  constexpr int L = lanes<V>;
  i64 c = 0;
#define STRATA_PANELS(N, PLACE)                  \
  for (; c + (N) * L <= d.columns; c += (N) * L) \
  dia_row_panel<N, Inside, PLACE>(i, offsets, diagonals, values, stride, by_row, cols, d.x + c, out + c, d)
  STRATA_PANELS(8, Place);
  STRATA_PANELS(4, Place);
  STRATA_PANELS(2, ByVectors);
  STRATA_PANELS(1, ByVectors);
#undef STRATA_PANELS
#if defined(__AVX2__)
  if (c < d.columns)
    dia_row_panel<1, Inside, Tail>(i, offsets, diagonals, values, stride, by_row, cols, d.x + c, out + c, d);
#else
  for (; c < d.columns; ++c) {
    V sum = 0;
    for (i64 k = 0; k < diagonals; ++k) {
      const i64 j = i + offsets[k];
      if (j >= 0 && j < cols) sum += values[k * stride + (by_row ? i : j)] * d.x[j * d.ldx + c];
    }
    finish(out + c, sum, d.alpha, d.beta);
  }
#endif
}

// Of x only what the diagonal furthest to the right reads is new; where x does not stay in the core's own caches that
// is asked for some KB ahead, as hardware prefetchers stop at the borders of pages.
template <template <int, class> class Place, class V>
static void dia_rows(i64 begin, i64 end, const i64* offsets, i64 diagonals, const V* values, i64 stride, bool by_row,
                     i64 cols, const Dense<V>& d) {
  const i64 row_bytes = d.columns * static_cast<i64>(sizeof(V));
  i64 lowest = 0, highest = 0;
  for (i64 k = 0; k < diagonals; ++k) {
    if (k == 0 || offsets[k] < lowest) lowest = offsets[k];
    if (k == 0 || offsets[k] > highest) highest = offsets[k];
  }
  const i64 ahead = highest + 1 + 4096 / row_bytes;
  StreamingStores<V> stream(d.out + begin * d.ldo);
  for (i64 i = begin; i < end; ++i) {
    V* out = d.streaming ? stream.next() : d.out + i * d.ldo;
    if (!d.near && i + ahead >= 0 && i + ahead < cols) {
      const char* row = reinterpret_cast<const char*>(d.x + (i + ahead) * d.ldx);
      for (i64 q = 0; q < row_bytes; q += 64) prefetch(row + q);
    }
    if (i + lowest >= 0 && i + highest < cols)
      dia_row<true, Place>(i, offsets, diagonals, values, stride, by_row, cols, out, d);
    else dia_row<false, Place>(i, offsets, diagonals, values, stride, by_row, cols, out, d);
    if (d.streaming) stream.push(d.columns);
  }
  if (d.streaming) stream.finish();
}

template <class V>
void dia(i64 begin, i64 end, const i64* offsets, i64 diagonals, const V* values, i64 stride, bool by_row, i64 cols,
         const Dense<V>& d) {
  if (is_vector(d)) return dia_spmv(begin, end, offsets, diagonals, values, stride, by_row, cols, d);
#if defined(__AVX512F__)
  if (by_lines(d.x, sizeof(V), d.ldx, d.columns))
    return dia_rows<ByLines>(begin, end, offsets, diagonals, values, stride, by_row, cols, d);
#endif
  dia_rows<ByVectors>(begin, end, offsets, diagonals, values, stride, by_row, cols, d);
}

}  // namespace strata::kernels::STRATA_ISA
