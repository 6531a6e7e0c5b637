#pragma once
#include "kernels/isa/vector.h"

namespace strata::kernels::STRATA_ISA {

template <class V> static inline void finish(V* out, V sum, V alpha, V beta) {
  *out = beta == V(0) ? alpha * sum : alpha * sum + beta * *out;
}

// Four chains of scalar loads keep more misses in flight than a gather does, and short rows pay nothing for them.
template <class V, class P, class C>
static void csr_spmv(i64 begin, i64 end, const P* pos, const C* crd, const V* values, const Dense<V>& d) {
  const V* x = d.x;
  i64 k = begin < end ? static_cast<i64>(pos[begin]) : 0;
  for (i64 i = begin; i < end; ++i) {
    const i64 stop = pos[i + 1];
    V s0 = 0, s1 = 0, s2 = 0, s3 = 0;
    for (; k + 8 <= stop; k += 8) {
      prefetch_stream(values + k);
      prefetch_stream(crd + k);
      s0 += values[k] * x[crd[k]];
      s1 += values[k + 1] * x[crd[k + 1]];
      s2 += values[k + 2] * x[crd[k + 2]];
      s3 += values[k + 3] * x[crd[k + 3]];
      s0 += values[k + 4] * x[crd[k + 4]];
      s1 += values[k + 5] * x[crd[k + 5]];
      s2 += values[k + 6] * x[crd[k + 6]];
      s3 += values[k + 7] * x[crd[k + 7]];
    }
    prefetch_stream(values + k);
    prefetch_stream(crd + k);
    if (k + 4 <= stop) {
      s0 += values[k] * x[crd[k]];
      s1 += values[k + 1] * x[crd[k + 1]];
      s2 += values[k + 2] * x[crd[k + 2]];
      s3 += values[k + 3] * x[crd[k + 3]];
      k += 4;
    }
    for (; k < stop; ++k) s0 += values[k] * x[crd[k]];
    finish(d.out + i, (s0 + s1) + (s2 + s3), d.alpha, d.beta);
  }
}

// N vectors of one output row stay in registers while the row's elements stream by.
template <int N, class V, class C>
static inline void row_panel(i64 k, i64 stop, i64 last, const C* crd, const V* values, const V* x, i64 ldx, V* out, V alpha, V beta) {
  Vec<V> acc[N];
  for (int q = 0; q < N; ++q) acc[q] = Vec<V>{};
  for (; k < stop; ++k) {
    const V* ahead = x + static_cast<i64>(crd[k + 6 < last ? k + 6 : k]) * ldx;
    for (int q = 0; q < N * vector_bytes; q += 64) prefetch(reinterpret_cast<const char*>(ahead) + q);
    const V* row = x + static_cast<i64>(crd[k]) * ldx;
    const Vec<V> v = splat(values[k]);
    for (int q = 0; q < N; ++q) acc[q] += v * load(row + q * lanes<V>);
  }
  const Vec<V> a = splat(alpha);
  for (int q = 0; q < N; ++q) {
    Vec<V> r = a * acc[q];
    if (beta != V(0)) r += splat(beta) * load(out + q * lanes<V>);
    store(out + q * lanes<V>, r);
  }
}

template <class V, class P, class C>
static void csr_spmm(i64 begin, i64 end, const P* pos, const C* crd, const V* values, const Dense<V>& d) {
  const i64 last = begin < end ? static_cast<i64>(pos[end]) : 0;
  for (i64 i = begin; i < end; ++i) {
    const i64 start = pos[i], stop = pos[i + 1];
    prefetch_stream(values + start);
    prefetch_stream(crd + start);
    V* out = d.out + i * d.ldo;
    i64 c = 0;
    constexpr int L = lanes<V>;
#define STRATA_PANELS(N) \
  for (; c + (N) * L <= d.columns; c += (N) * L) \
    row_panel<N>(start, stop, last, crd, values, d.x + c, d.ldx, out + c, d.alpha, d.beta)
    if constexpr (max_accumulators >= 16) STRATA_PANELS(16);
    STRATA_PANELS(8);
    STRATA_PANELS(4);
    STRATA_PANELS(2);
    STRATA_PANELS(1);
#undef STRATA_PANELS
    // The last columns, fewer than one vector: four at a time, then one.
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
  }
}

template <class V, class P, class C>
static void csr(i64 begin, i64 end, const P* pos, const C* crd, const V* values, const Dense<V>& d) {
  if (d.columns == 1 && d.ldx == 1 && d.ldo == 1) csr_spmv(begin, end, pos, crd, values, d);
  else csr_spmm(begin, end, pos, crd, values, d);
}

template <class V, class P, class C>
static void csc(i64 begin, i64 end, const P* pos, const C* crd, const V* values, const Dense<V>& d) {
  constexpr int L = lanes<V>;
  for (i64 j = begin; j < end; ++j) {
    const i64 start = pos[j], stop = pos[j + 1];
    prefetch_stream(values + start);
    prefetch_stream(crd + start);
    const V* x = d.x + j * d.ldx;
    if (d.columns == 1) {
      const V ax = d.alpha * *x;
      for (i64 k = start; k < stop; ++k) d.out[static_cast<i64>(crd[k]) * d.ldo] += values[k] * ax;
      continue;
    }
    for (i64 k = start; k < stop; ++k) {
      V* out = d.out + static_cast<i64>(crd[k]) * d.ldo;
      const V w = d.alpha * values[k];
      const Vec<V> wv = splat(w);
      i64 c = 0;
      for (; c + L <= d.columns; c += L) store(out + c, load(out + c) + wv * load(x + c));
      for (; c < d.columns; ++c) out[c] += w * x[c];
    }
  }
}

}  // namespace strata::kernels::STRATA_ISA
