#pragma once
// CSR in tiles: each is a small CSR matrix, whose elements lie together and stream by while its rows of x stay in the
// nearest cache.
#include "kernels/isa/csr.h"

namespace strata::kernels::STRATA_ISA {

template <class V, class P, class C>
void tiled(i64 begin, i64 end, const P* pos, const C* crd, const V* values, const Tiling& t, const Dense<V>& whole) {
  for (i64 top = begin / t.height * t.height; top < end; top += t.height) {
    const i64 from = begin > top ? begin - top : 0, to = end - top < t.height ? end - top : t.height;
    const P* tile = pos + top * t.tiles;
    Dense<V> d = whole;
    d.out += top;
    for (i64 j = 0; j < t.tiles; ++j, tile += t.height, d.x += t.width) {
      csr_vector(from, to, tile, crd, values, d);
      d.beta = V(1);  // the tiles behind the first add to what it left
    }
  }
}

}  // namespace strata::kernels::STRATA_ISA
