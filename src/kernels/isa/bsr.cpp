// BSR.
#include "kernels/isa/bsr.h"
#include "kernels/isa/entries.h"

namespace strata::kernels::STRATA_ISA {

#define STRATA_BSR(V, P, C) \
  template void bsr(i64, i64, const P*, const C*, const V*, i64, i64, bool, i64, i64, const Dense<V>&);
STRATA_EACH_INDEX(STRATA_BSR, float)
STRATA_EACH_INDEX(STRATA_BSR, double)

}  // namespace strata::kernels::STRATA_ISA
