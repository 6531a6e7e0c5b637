#pragma once
// Sums of the rows of a CSR matrix, under masks: generated code is faster without AVX-512. Long rows are summed block
// by block, and the blocks with what each addition loses: the error does not grow with the row.
#include "kernels/isa/csr_gather.h"
#include "kernels/isa/entries.h"
#include "kernels/isa/long_rows.h"

#ifdef STRATA_HAS_ROW_SUMS

namespace strata::kernels::STRATA_ISA {

constexpr i64 sum_block = 512;  ///< elements that are added to 16 sums in turn

template <class V> static V long_row_sum(i64 k, i64 stop, const V* values) {
  constexpr i64 lanes = 16;
  double sum = 0, lost = 0;
  for (; k < stop; k += sum_block) {
    const i64 end = k + sum_block < stop ? k + sum_block : stop;
    V sums[lanes] = {};
    i64 q = k;
    for (; q + lanes <= end; q += lanes)
      for (i64 l = 0; l < lanes; ++l) sums[l] += values[q + l];
    for (i64 l = 0; q + l < end; ++l) sums[l] += values[q + l];
    for (i64 half = lanes / 2; half > 0; half /= 2)
      for (i64 l = 0; l < half; ++l) sums[l] += sums[l + half];
    const double x = static_cast<double>(sums[0]), more = sum + x, added = more - sum;
    lost += (sum - (more - added)) + (x - added);
    sum = more;
  }
  return static_cast<V>(lost == lost ? sum + lost : sum);  // beside an infinity nothing is known to be lost
}

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
  with_long_rows(
      begin, end, pos, sum_block,
      [&](i64 from, i64 to) {
        rows_under_masks<width, Sums>(from, to, pos, d,
                                      [&](u32 mask, Sums& sums, i64 k)
                                          __attribute__((always_inline)) { add_values(mask, sums, values + k); });
      },
      [&](i64 row) { finish(d.out + row, long_row_sum<V>(pos[row], pos[row + 1], values), d.alpha, d.beta); });
}

}  // namespace strata::kernels::STRATA_ISA

#endif
