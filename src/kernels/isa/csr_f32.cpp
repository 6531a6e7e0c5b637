// CSR of float.
#include "kernels/isa/csr.h"
#include "kernels/isa/entries.h"

namespace strata::kernels::STRATA_ISA {

#define STRATA_CSR(V, P, C) template void csr(i64, i64, const P*, const C*, const V*, const Dense<V>&);
STRATA_EACH_INDEX(STRATA_CSR, float)

}  // namespace strata::kernels::STRATA_ISA
