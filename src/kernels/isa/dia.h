#pragma once
#include "kernels/isa/csr.h"

namespace strata::kernels::STRATA_ISA {

// G diagonals in one sweep over rows [lo, hi), all of them inside the matrix there: out is read and written once for all of them.
template <int G, bool Stream, class V>
static inline void dia_sweep(i64 lo, i64 hi, const V* const* a, const V* const* x, V* out, V alpha) {
  constexpr int L = lanes<V>;
  const Vec<V> av = splat(alpha);
  i64 i = lo;
  for (; i + 2 * L <= hi; i += 2 * L) {
    Vec<V> s = Vec<V>{}, t = Vec<V>{};
    for (int g = 0; g < G; ++g) {
      if constexpr (Stream) prefetch_stream(a[g] + i);
      s += load(a[g] + i) * load(x[g] + i);
      t += load(a[g] + i + L) * load(x[g] + i + L);
    }
    store(out + i, load(out + i) + av * s);
    store(out + i + L, load(out + i + L) + av * t);
  }
  for (; i < hi; ++i) {
    V s = 0;
    for (int g = 0; g < G; ++g) s += a[g][i] * x[g][i];
    out[i] += alpha * s;
  }
}

// Rows are cut so that the slice of `out` stays in L1 while all diagonals pass over it.
template <bool Stream, class V>
static void dia_spmv(i64 begin, i64 end, const i64* offsets, i64 diagonals, const V* values, i64 stride, bool by_row, i64 cols, const Dense<V>& d) {
  constexpr i64 tile = 2048;
  constexpr int group = 4;
  for (i64 t = begin; t < end; t += tile) {
    const i64 stop = t + tile < end ? t + tile : end;
    if (d.beta == V(0)) for (i64 i = t; i < stop; ++i) d.out[i] = 0;
    else if (d.beta != V(1)) for (i64 i = t; i < stop; ++i) d.out[i] *= d.beta;
    for (i64 k = 0; k < diagonals; k += group) {
      const int n = static_cast<int>(diagonals - k < group ? diagonals - k : group);
      const V *a[group], *x[group];
      i64 first[group], last[group], lo = t, hi = stop;  // each diagonal's rows in this tile, and those that all have
      for (int g = 0; g < n; ++g) {
        const i64 o = offsets[k + g];
        a[g] = values + (k + g) * stride + (by_row ? 0 : o);
        x[g] = d.x + o;
        first[g] = t > -o ? t : -o;
        last[g] = stop < cols - o ? stop : cols - o;
        if (first[g] > lo) lo = first[g];
        if (last[g] < hi) hi = last[g];
      }
      if (lo >= hi) lo = hi = stop;
      switch (n) {
        case 4: dia_sweep<4, Stream>(lo, hi, a, x, d.out, d.alpha); break;
        case 3: dia_sweep<3, Stream>(lo, hi, a, x, d.out, d.alpha); break;
        case 2: dia_sweep<2, Stream>(lo, hi, a, x, d.out, d.alpha); break;
        default: dia_sweep<1, Stream>(lo, hi, a, x, d.out, d.alpha);
      }
      for (int g = 0; g < n; ++g) {
        for (i64 i = first[g]; i < last[g] && i < lo; ++i) d.out[i] += d.alpha * (a[g][i] * x[g][i]);
        for (i64 i = first[g] > hi ? first[g] : hi; i < last[g]; ++i) d.out[i] += d.alpha * (a[g][i] * x[g][i]);
      }
    }
  }
}

template <int N, class V>
static inline void dia_row_panel(i64 i, const i64* offsets, i64 diagonals, const V* values, i64 stride, bool by_row, i64 cols, const V* x, i64 ldx, V* out, V alpha, V beta) {
  constexpr int L = lanes<V>;
  Vec<V> acc[N];
  for (int q = 0; q < N; ++q) acc[q] = Vec<V>{};
  for (i64 k = 0; k < diagonals; ++k) {
    const i64 j = i + offsets[k];
    if (j < 0 || j >= cols) continue;
    const Vec<V> v = splat(values[k * stride + (by_row ? i : j)]);
    for (int q = 0; q < N; ++q) acc[q] += v * load(x + j * ldx + q * L);
  }
  for (int q = 0; q < N; ++q) {
    Vec<V> r = splat(alpha) * acc[q];
    if (beta != V(0)) r += splat(beta) * load(out + q * L);
    store(out + q * L, r);
  }
}

template <class V>
static void dia(i64 begin, i64 end, const i64* offsets, i64 diagonals, const V* values, i64 stride, bool by_row, i64 rows, i64 cols, const Dense<V>& d) {
  (void)rows;
  if (d.columns == 1 && d.ldx == 1 && d.ldo == 1) {
    if (d.stream) return dia_spmv<true>(begin, end, offsets, diagonals, values, stride, by_row, cols, d);
    return dia_spmv<false>(begin, end, offsets, diagonals, values, stride, by_row, cols, d);
  }
  constexpr int L = lanes<V>;
  for (i64 i = begin; i < end; ++i) {
    V* out = d.out + i * d.ldo;
    i64 c = 0;
    for (; c + 8 * L <= d.columns; c += 8 * L) dia_row_panel<8>(i, offsets, diagonals, values, stride, by_row, cols, d.x + c, d.ldx, out + c, d.alpha, d.beta);
    for (; c + 2 * L <= d.columns; c += 2 * L) dia_row_panel<2>(i, offsets, diagonals, values, stride, by_row, cols, d.x + c, d.ldx, out + c, d.alpha, d.beta);
    for (; c + L <= d.columns; c += L) dia_row_panel<1>(i, offsets, diagonals, values, stride, by_row, cols, d.x + c, d.ldx, out + c, d.alpha, d.beta);
    for (; c < d.columns; ++c) {
      V sum = 0;
      for (i64 k = 0; k < diagonals; ++k) {
        const i64 j = i + offsets[k];
        if (j >= 0 && j < cols) sum += values[k * stride + (by_row ? i : j)] * d.x[j * d.ldx + c];
      }
      finish(out + c, sum, d.alpha, d.beta);
    }
  }
}

}  // namespace strata::kernels::STRATA_ISA
