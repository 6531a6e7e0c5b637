#pragma once
// CSR in tiles: each is a small CSR matrix, whose elements lie together and stream by while its rows of x stay in the
// nearest cache.
#include "kernels/isa/csr.h"

namespace strata::kernels::STRATA_ISA {

// N vectors of columns (0: fewer than one) of rows [from, to) of the tiles beside each other that `tile` begins with.
template <int N, class V, class P, class C>
static void tile_panel(i64 from, i64 to, const P* tile, const C* crd, const V* values, const Tiling& t, Dense<V> d) {
  const i64 last = tile[t.tiles * t.height];
  for (i64 j = 0; j < t.tiles; ++j, tile += t.height, d.x += t.width * d.ldx) {
    if constexpr (N == 0) {
      if (is_vector(d)) csr_vector(from, to, tile, crd, values, d);
      else csr_spmm<RowLocality::near, 0, ByVectors>(from, to, tile, crd, values, d);
    } else {
      for (i64 i = from; i < to; ++i)
        row_panel<RowLocality::nearest, N, ByVectors>(tile[i], tile[i + 1], last, crd, values, d.x, d.out + i * d.ldo,
                                                      false, d);
    }
    d.beta = V(1);  // the tiles behind the first add to what it left
  }
}

template <class V, class P, class C>
void tiled(i64 begin, i64 end, const P* pos, const C* crd, const V* values, const Tiling& t, const Dense<V>& whole) {
  for (i64 top = begin / t.height * t.height; top < end; top += t.height) {
    const i64 from = begin > top ? begin - top : 0, to = end - top < t.height ? end - top : t.height;
    const P* tile = pos + top * t.tiles;
    Dense<V> d = whole;
    d.out += top * d.ldo;
    d.near = true, d.scattered = d.streaming = d.along = false, d.tile = 0;
    // A width of columns walks all rows before the next: to choose one anew for each row would cost as much as a dozen
    // elements.
#define STRATA_PANELS(N)                                                                                           \
  for (constexpr i64 width = (N) * lanes<V>; d.columns >= width; d.x += width, d.out += width, d.columns -= width) \
  tile_panel<N>(from, to, tile, crd, values, t, d)
    if constexpr (max_accumulators >= 16) STRATA_PANELS(16);
    STRATA_PANELS(8);
    STRATA_PANELS(4);
    STRATA_PANELS(2);
    STRATA_PANELS(1);
#undef STRATA_PANELS
    if (d.columns > 0) tile_panel<0>(from, to, tile, crd, values, t, d);
  }
}

}  // namespace strata::kernels::STRATA_ISA
