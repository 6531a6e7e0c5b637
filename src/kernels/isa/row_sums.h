#pragma once
// Sums of the rows of a CSR matrix.
#include "kernels/isa/csr_gather.h"

namespace strata::kernels::STRATA_ISA {

#if defined(__AVX512F__) && defined(__AVX512VL__) && defined(__AVX512BW__)

template <class V> struct SumsOf {
  using type = __m512;
};
template <> struct SumsOf<double> {
  using type = __m512d;
};

static inline void add_values(u32 m, __m512& s, const float* v) {
  s = s + _mm512_maskz_loadu_ps(static_cast<__mmask16>(m), v);
}
static inline void add_values(u32 m, __m512d& s, const double* v) {
  s = s + _mm512_maskz_loadu_pd(static_cast<__mmask8>(m), v);
}

template <class V, class P> void row_sums(i64 begin, i64 end, const P* pos, const V* values, const Dense<V>& d) {
  using Sums = typename SumsOf<V>::type;
  constexpr i64 width = 64 / static_cast<i64>(sizeof(V));
  rows_under_masks<width, Sums>(begin, end, pos, d, [&](u32 mask, Sums& sums, i64 k) __attribute__((always_inline)) {
    add_values(mask, sums, values + k);
  });
}

#else

template <class V, class P> void row_sums(i64 begin, i64 end, const P* pos, const V* values, const Dense<V>& d) {
  for (i64 i = begin; i < end; ++i) {
    V sums[4] = {};
    i64 k = pos[i];
    const i64 stop = pos[i + 1];
    for (; k + 4 <= stop; k += 4)
      for (int q = 0; q < 4; ++q) sums[q] += values[k + q];
    for (; k < stop; ++k) sums[0] += values[k];
    finish(d.out + i, (sums[0] + sums[2]) + (sums[1] + sums[3]), d.alpha, d.beta);
  }
}

#endif

}  // namespace strata::kernels::STRATA_ISA
