// The loops of one instruction set: compiled once per STRATA_ISA, as the files beside this one are.
#include "kernels/isa/entries.h"
#include "kernels/isa/vector.h"

namespace strata::kernels::STRATA_ISA {

#define STRATA_TEXT2(x) #x
#define STRATA_TEXT(x) STRATA_TEXT2(x)
#define STRATA_INDEXED(V, P, C) \
  {csr<V, P, C>, complex_csr<V, P, C>, STRATA_ROW_SUMS(V, P), bitmap_vector<V, P>, STRATA_BLOCKS(V, P, C)},
#define STRATA_TILED(V, P, C) {tiled<V, P, C>},
#define STRATA_LOOPS(V)                                                                        \
  {                                                                                            \
    STRATA_EACH_INDEX(STRATA_INDEXED, V)                                                       \
    STRATA_EACH_TILED_INDEX(STRATA_TILED, V) STRATA_CSR_ADDS(V, i32) STRATA_CSR_ADDS(V, i64) { \
      dia<V>, fibres<V>, attend<V>                                                             \
    }                                                                                          \
  }

extern const LoopTable table;
const LoopTable table = {STRATA_TEXT(STRATA_ISA), by_lines, streams_by_rows, STRATA_LOOPS(double), STRATA_LOOPS(float)};

}  // namespace strata::kernels::STRATA_ISA
