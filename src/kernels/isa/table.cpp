// The loops of one instruction set: compiled once per STRATA_ISA.
#include "kernels/isa/bitmap.h"
#include "kernels/isa/bsr.h"
#include "kernels/isa/coo.h"
#include "kernels/isa/csr.h"
#include "kernels/isa/dia.h"
#include "kernels/isa/tiled.h"

namespace strata::kernels::STRATA_ISA {

#define STRATA_TEXT2(x) #x
#define STRATA_TEXT(x) STRATA_TEXT2(x)
#define STRATA_INDEXED(V, P, C) {csr<V, P, C>, csc<V, P, C>, coo<V, C>, bitmap<V, P>, bsr<V, P, C>}
#define STRATA_LOOPS(V) \
  {STRATA_INDEXED(V, i32, i32), STRATA_INDEXED(V, i64, i64), STRATA_INDEXED(V, i64, i32), STRATA_INDEXED(V, i32, u16), \
   {tiled<V, i32, u8>}, {tiled<V, i32, u16>}, {tiled<V, i32, i32>}, {tiled<V, i64, i64>}, {dia<V>}}

extern const LoopTable table;
const LoopTable table = {STRATA_TEXT(STRATA_ISA), STRATA_LOOPS(double), STRATA_LOOPS(float)};

}  // namespace strata::kernels::STRATA_ISA
