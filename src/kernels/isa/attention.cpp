// Rows of an attention.
#include "kernels/isa/attention.h"
#include "kernels/isa/entries.h"

namespace strata::kernels::STRATA_ISA {

template void attend(i64, i64, const i64*, const i32*, const Attention<float>&);
template void attend(i64, i64, const i64*, const i32*, const Attention<double>&);

}  // namespace strata::kernels::STRATA_ISA
