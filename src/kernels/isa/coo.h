#pragma once
#include "kernels/isa/places.h"

namespace strata::kernels::STRATA_ISA {

template <int N, template <int, class> class Place, class V, class C>
static inline void coo_run(i64 k, i64 stop, const C* columns, const V* values, const V* x, V* out, const Dense<V>& d) {
  const Place<N, V> place(x, d.columns - (x - d.x));
  Vec<V> acc[N];
  for (int q = 0; q < N; ++q) acc[q] = Vec<V>{};
  for (; k < stop; ++k) {
    const V* row = x + static_cast<i64>(columns[k]) * d.ldx;
    const Vec<V> v = splat(values[k]);
    for (int q = 0; q < N; ++q) acc[q] += v * place.read(row, q);
  }
  for (int q = 0; q < N; ++q) place.write(out, q, place.read(out, q) + splat(d.alpha) * acc[q]);
}

/// Rows of few elements, each of another length: the end of a row would be a guess, and an addition in memory is none.
template <bool Unit, class V, class C>
static inline void coo_short(i64 begin, i64 end, const C* rows, const C* columns, const V* values, const Dense<V>& d) {
  const V *x = d.x, alpha = d.alpha;
  V* out = d.out;
  const i64 ldx = Unit ? 1 : d.ldx, ldo = Unit ? 1 : d.ldo;
  for (i64 k = begin; k < end; ++k)
    out[static_cast<i64>(rows[k]) * ldo] += alpha * values[k] * x[static_cast<i64>(columns[k]) * ldx];
}

template <class V, class C>
void coo(i64 begin, i64 end, const C* rows, const C* columns, const V* values, const Dense<V>& d, bool short_rows) {
  constexpr int L = lanes<V>;
  if (short_rows && d.columns == 1)
    return d.ldx == 1 && d.ldo == 1 ? coo_short<true>(begin, end, rows, columns, values, d)
                                    : coo_short<false>(begin, end, rows, columns, values, d);
  for (i64 k = begin; k < end;) {
    const C row = rows[k];
    V* out = d.out + static_cast<i64>(row) * d.ldo;
    if (d.columns == 1) {
      V sum = 0;
      for (; k < end && rows[k] == row; ++k) {
        if (d.stream && !(k & 7)) prefetch_stream(values + k), prefetch_stream(columns + k), prefetch_stream(rows + k);
        sum += values[k] * d.x[static_cast<i64>(columns[k]) * d.ldx];
      }
      *out += d.alpha * sum;
      continue;
    }
    i64 stop = k + 1;
    while (stop < end && rows[stop] == row) ++stop;
    i64 c = 0;
    for (; c + 8 * L <= d.columns; c += 8 * L) coo_run<8, Plain>(k, stop, columns, values, d.x + c, out + c, d);
    for (; c + 2 * L <= d.columns; c += 2 * L) coo_run<2, Plain>(k, stop, columns, values, d.x + c, out + c, d);
    for (; c + L <= d.columns; c += L) coo_run<1, Plain>(k, stop, columns, values, d.x + c, out + c, d);
#if defined(__AVX2__)
    if (c < d.columns) coo_run<1, Tail>(k, stop, columns, values, d.x + c, out + c, d);
#else
    for (; c < d.columns; ++c) {
      V s = 0;
      for (i64 q = k; q < stop; ++q) s += values[q] * d.x[static_cast<i64>(columns[q]) * d.ldx + c];
      out[c] += d.alpha * s;
    }
#endif
    k = stop;
  }
}

}  // namespace strata::kernels::STRATA_ISA
