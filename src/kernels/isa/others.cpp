// Bitmap rows, sums of rows, diagonals, fibres and sums of matrices, which compile in no time.
#include "kernels/isa/bitmap.h"
#include "kernels/isa/csr_add.h"
#include "kernels/isa/dia.h"
#include "kernels/isa/entries.h"
#include "kernels/isa/fibres.h"
#include "kernels/isa/row_sums.h"

namespace strata::kernels::STRATA_ISA {

#define STRATA_OTHERS(V)                                                                                   \
  template void bitmap_vector(i64, i64, const u64*, i64, const i32*, const V*, i64, i64, const Dense<V>&); \
  template void bitmap_vector(i64, i64, const u64*, i64, const i64*, const V*, i64, i64, const Dense<V>&); \
  template void fibres(i64, const V* const*, V* const*, i64, const V*, i64, i64);                          \
  template void dia(i64, i64, const i64*, i64, const V*, i64, bool, i64, const Dense<V>&);
STRATA_OTHERS(float)
STRATA_OTHERS(double)

#ifdef STRATA_HAS_ROW_SUMS
#define STRATA_SUMS(V)                                                     \
  template void row_sums(i64, i64, const i32*, const V*, const Dense<V>&); \
  template void row_sums(i64, i64, const i64*, const V*, const Dense<V>&);
STRATA_SUMS(float)
STRATA_SUMS(double)
#endif

#ifdef STRATA_CAN_UNITE
#define STRATA_UNITE(V, P)                                                                                             \
  template i64 csr_add_rows(i64, i64, i64, const P*, const i32*, const V*, const P*, const i32*, const V*, bool, i32*, \
                            V*, i64*);
STRATA_UNITE(float, i32)
STRATA_UNITE(float, i64)
STRATA_UNITE(double, i32)
STRATA_UNITE(double, i64)
#endif

}  // namespace strata::kernels::STRATA_ISA
