// The loops of one instruction set: compiled once per STRATA_ISA.
#include "kernels/isa/bsr.h"
#include "kernels/isa/coo.h"
#include "kernels/isa/csr.h"
#include "kernels/isa/dia.h"

namespace strata::kernels::STRATA_ISA {

#define STRATA_TEXT2(x) #x
#define STRATA_TEXT(x) STRATA_TEXT2(x)
#define STRATA_LOOPS(V) \
  { {csr<V, i32, i32>, csc<V, i32, i32>, coo<V, i32>, bsr<V, i32, i32>}, {csr<V, i64, i64>, csc<V, i64, i64>, coo<V, i64>, bsr<V, i64, i64>}, \
    {csr<V, i64, i32>, csc<V, i64, i32>, coo<V, i32>, bsr<V, i64, i32>}, {dia<V>} }

extern const LoopTable table;
const LoopTable table = {STRATA_TEXT(STRATA_ISA), STRATA_LOOPS(double), STRATA_LOOPS(float)};

}  // namespace strata::kernels::STRATA_ISA
