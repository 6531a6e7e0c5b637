// CSR of complex numbers.
#include "kernels/isa/complex_csr.h"
#include "kernels/isa/entries.h"

namespace strata::kernels::STRATA_ISA {

#define STRATA_COMPLEX_CSR(V, P, C) template void complex_csr(i64, i64, const P*, const C*, const V*, const Dense<V>&);
STRATA_EACH_INDEX(STRATA_COMPLEX_CSR, double)
STRATA_EACH_INDEX(STRATA_COMPLEX_CSR, float)

}  // namespace strata::kernels::STRATA_ISA
