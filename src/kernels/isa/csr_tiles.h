#pragma once
// CSR times several columns, by tiles of the dense operand: what lies in a tile is read again from a cache nearby.
// Columns of A ascend in each row.
#include "kernels/isa/csr_spmm.h"

namespace strata::kernels::STRATA_ISA {

// Elements of one row within a tile of x, from k on, added to N vectors of out; returns the first element behind the
// tile.
template <int N, class V, class C>
static inline i64 tile_panel(i64 k, i64 stop, i64 tile_end, const C* crd, const V* values, const V* x, V* out,
                             const Dense<V>& d) {
  Vec<V> acc[N];
  for (int q = 0; q < N; ++q) acc[q] = Vec<V>{};
  const auto add = [&](i64 at) __attribute__((always_inline)) {
    const V* row = x + static_cast<i64>(crd[at]) * d.ldx;
    const Vec<V> v = splat(values[at]);
    for (int q = 0; q < N; ++q) acc[q] += v * load(row + q * lanes<V>);
  };
  for (; k + 4 <= stop && static_cast<i64>(crd[k + 3]) < tile_end; k += 4)
    for (int u = 0; u < 4; ++u) add(k + u);
  for (; k < stop && static_cast<i64>(crd[k]) < tile_end; ++k) add(k);
  const Vec<V> a = splat(d.alpha);
  for (int q = 0; q < N; ++q) store(out + q * lanes<V>, load(out + q * lanes<V>) + a * acc[q]);
  return k;
}

// What row after row chooses of A in a tile lies far apart: it is asked for some rows ahead, with room for rows of more
// elements than the others (a line that is missed costs as much as all of them).
template <class T> [[gnu::always_inline]] static inline void prefetch_elements(const T* from, i64 elements) {
  for (i64 q = 0; q < (elements + elements / 4) * static_cast<i64>(sizeof(T)) + 64; q += 64)
    prefetch(reinterpret_cast<const char*>(from) + q);
}

// Columns [c, c + N vectors) of all rows: a tile of x stays while a block of rows passes over it.
template <int N, class V, class P, class C>
static void csr_tiles(i64 begin, i64 end, const P* pos, const C* crd, const V* values, i64 c, const Dense<V>& d) {
  constexpr i64 block = 256, ahead = 4;
  const i64 tile = d.tile / (N * vector_bytes);
  i64 next[block + ahead];
  for (i64 b = begin; b < end; b += block) {
    const i64 rows = b + block <= end ? block : end - b;
    for (i64 r = 0; r < rows; ++r) {
      next[r] = pos[b + r];
      V* out = d.out + (b + r) * d.ldo + c;
      for (int q = 0; q < N; ++q)
        store(out + q * lanes<V>, d.beta == V(0) ? Vec<V>{} : splat(d.beta) * load(out + q * lanes<V>));
    }
    for (i64 r = rows; r < rows + ahead; ++r) next[r] = pos[b];
    i64 left = static_cast<i64>(pos[b + rows]) - static_cast<i64>(pos[b]);
    i64 each = 0;  // elements of a row in the tile before
    for (i64 tile_end = tile; left > 0; tile_end += tile) {
      const i64 before = left;
      for (i64 r = 0; r < rows; ++r) {
        prefetch_elements(crd + next[r + ahead], each);
        prefetch_elements(values + next[r + ahead], each);
        const i64 k = tile_panel<N>(next[r], static_cast<i64>(pos[b + r + 1]), tile_end, crd, values, d.x + c,
                                    d.out + (b + r) * d.ldo + c, d);
        left -= k - next[r];
        next[r] = k;
      }
      each = (before - left) / rows;
    }
  }
}

template <class V, class P, class C>
static void csr_tiled(i64 begin, i64 end, const P* pos, const C* crd, const V* values, const Dense<V>& d) {
  constexpr int L = lanes<V>;
  i64 c = 0;
#define STRATA_TILES(N) \
  for (; c + (N) * L <= d.columns; c += (N) * L) csr_tiles<N>(begin, end, pos, crd, values, c, d)
  if constexpr (max_accumulators >= 16) STRATA_TILES(16);
  STRATA_TILES(8);
  STRATA_TILES(4);
#undef STRATA_TILES
  Dense<V> rest = d;
  rest.x += c, rest.out += c, rest.columns -= c;
  rest.streaming = false;  // its rows do not follow each other
  if (rest.columns > 0) csr_rows(begin, end, pos, crd, values, rest);
}

}  // namespace strata::kernels::STRATA_ISA
