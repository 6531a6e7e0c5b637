// BSR.
#include "kernels/isa/bsr.h"
#include "kernels/isa/entries.h"

namespace strata::kernels::STRATA_ISA {

#if defined(__AVX2__)
#define STRATA_BSR_VECTOR(V, P, C) \
  template void bsr_3x3_vector(i64, i64, const P*, const C*, const V*, const Dense<V>&);
STRATA_EACH_INDEX(STRATA_BSR_VECTOR, float)
STRATA_EACH_INDEX(STRATA_BSR_VECTOR, double)
#endif
#if defined(__AVX512F__)
#define STRATA_BSR_COLUMNS(V, P, C) \
  template void bsr_few_columns(i64, i64, const P*, const C*, const V*, i64, i64, const Dense<V>&);
STRATA_EACH_INDEX(STRATA_BSR_COLUMNS, float)
STRATA_EACH_INDEX(STRATA_BSR_COLUMNS, double)
#endif

}  // namespace strata::kernels::STRATA_ISA
