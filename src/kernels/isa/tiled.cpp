// CSR in tiles.
#include "kernels/isa/tiled.h"
#include "kernels/isa/entries.h"

namespace strata::kernels::STRATA_ISA {

#define STRATA_TILED(V, P, C) \
  template void tiled(i64, i64, const P*, const C*, const V*, const Tiling&, const Dense<V>&);
STRATA_EACH_TILED_INDEX(STRATA_TILED, float)
STRATA_EACH_TILED_INDEX(STRATA_TILED, double)

}  // namespace strata::kernels::STRATA_ISA
