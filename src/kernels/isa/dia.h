#pragma once
#include "kernels/isa/past.h"

namespace strata::kernels::STRATA_ISA {

// G diagonals in one sweep over rows [lo, hi), all of them inside the matrix there: out is written once for all of them. No
// software prefetch: G streams of some pages each are what the hardware's is made for (25 % faster without, also from memory).
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

// Rows are cut so that the slice of `out` stays in L1 while all diagonals pass over it: first those that cover the whole slice, by
// groups, then those that begin or end in it.
template <class V>
static void dia_spmv(i64 begin, i64 end, const i64* offsets, i64 diagonals, const V* values, i64 stride, bool by_row, i64 cols, const Dense<V>& d) {
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

template <int N, class V>
static inline void dia_row_panel(i64 i, const i64* offsets, i64 diagonals, const V* values, i64 stride, bool by_row, i64 cols, const V* x, V* out, const Dense<V>& d) {
  constexpr int L = lanes<V>;
  Vec<V> acc[N];
  for (int q = 0; q < N; ++q) acc[q] = Vec<V>{};
  for (i64 k = 0; k < diagonals; ++k) {
    const i64 j = i + offsets[k];
    if (j < 0 || j >= cols) continue;
    const Vec<V> v = splat(values[k * stride + (by_row ? i : j)]);
    for (int q = 0; q < N; ++q) acc[q] += v * load(x + j * d.ldx + q * L);
  }
  for (int q = 0; q < N; ++q) {
    V* o = out + q * L;
    Vec<V> r = splat(d.alpha) * acc[q];
    if (d.beta != V(0)) r += splat(d.beta) * load(o);
    store(o, r);
  }
}

template <class V>
void dia(i64 begin, i64 end, const i64* offsets, i64 diagonals, const V* values, i64 stride, bool by_row, i64 rows, i64 cols, const Dense<V>& d) {
  (void)rows;
  if (is_vector(d)) return dia_spmv(begin, end, offsets, diagonals, values, stride, by_row, cols, d);
  constexpr int L = lanes<V>;
  Past<V> past(d.out + begin * d.ldo);
  for (i64 i = begin; i < end; ++i) {
    V* out = d.past ? past.next() : d.out + i * d.ldo;
    i64 c = 0;
    for (; c + 8 * L <= d.columns; c += 8 * L) dia_row_panel<8>(i, offsets, diagonals, values, stride, by_row, cols, d.x + c, out + c, d);
    for (; c + 2 * L <= d.columns; c += 2 * L) dia_row_panel<2>(i, offsets, diagonals, values, stride, by_row, cols, d.x + c, out + c, d);
    for (; c + L <= d.columns; c += L) dia_row_panel<1>(i, offsets, diagonals, values, stride, by_row, cols, d.x + c, out + c, d);
    for (; c < d.columns; ++c) {
      V sum = 0;
      for (i64 k = 0; k < diagonals; ++k) {
        const i64 j = i + offsets[k];
        if (j >= 0 && j < cols) sum += values[k * stride + (by_row ? i : j)] * d.x[j * d.ldx + c];
      }
      finish(out + c, sum, d.alpha, d.beta);
    }
    if (d.past) past.push(d.columns);
  }
  if (d.past) past.finish();
}

}  // namespace strata::kernels::STRATA_ISA
