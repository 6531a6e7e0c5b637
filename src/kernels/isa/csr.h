#pragma once
#include "kernels/isa/csr_gather.h"
#include "kernels/isa/csr_spmv.h"
#include "kernels/isa/csr_tiles.h"

namespace strata::kernels::STRATA_ISA {

// Elements under a mask cost little more than others. (See even_rows.h; without AVX2 0 to 25 % more.)
#if defined(__AVX2__)
inline constexpr bool cheap_masks = true;
#else
inline constexpr bool cheap_masks = false;
#endif

template <class V, class P, class C>
static void csr_vector(i64 begin, i64 end, const P* pos, const C* crd, const V* values, const Dense<V>& d) {
  if (d.scattered && d.second) csr_spmv<Reads::scattered_second>(begin, end, pos, crd, values, d);
  else if (d.scattered) csr_spmv<Reads::scattered>(begin, end, pos, crd, values, d);
#if defined(__AVX512F__)
  else if (d.gathers && d.stream) csr_gathered<true>(begin, end, pos, crd, values, d);
  else if (d.gathers) csr_gathered<false>(begin, end, pos, crd, values, d);
#endif
  else if (cheap_masks && d.fours > 0 && d.stream) csr_spmv_even<true>(begin, end, pos, crd, values, d);
  else if (cheap_masks && d.fours > 0) csr_spmv_even<false>(begin, end, pos, crd, values, d);
  else if (d.stream) csr_spmv<Reads::streamed>(begin, end, pos, crd, values, d);
  else csr_spmv<Reads::cached>(begin, end, pos, crd, values, d);
}

template <class V, class P, class C>
void csr(i64 begin, i64 end, const P* pos, const C* crd, const V* values, const Dense<V>& d) {
  if (is_vector(d)) csr_vector(begin, end, pos, crd, values, d);
  else if (d.tile > 0) csr_tiled(begin, end, pos, crd, values, d);
  else csr_rows(begin, end, pos, crd, values, d);
}

}  // namespace strata::kernels::STRATA_ISA
