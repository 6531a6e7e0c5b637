#pragma once
// CSC times a vector or several columns: what a column stores scatters.
#include "kernels/isa/vector.h"

namespace strata::kernels::STRATA_ISA {

template <class V, class P, class C>
void csc(i64 begin, i64 end, const P* pos, const C* crd, const V* values, const Dense<V>& d) {
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
