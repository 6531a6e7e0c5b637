#pragma once
// CSR times several columns: rows one by one, or by tiles of the dense operand.
#include "kernels/isa/past.h"

namespace strata::kernels::STRATA_ISA {

/// Where the rows of a dense matrix lie that a product needs.
enum class Rows {
  near,       ///< in the core's own caches: asking early costs more than it hides
  far,        ///< asked for 24 elements (12 KB at most) ahead
  scattered,  ///< in memory, in no order: earlier still, into the second level, which waits for more lines at a time than the first
};

// N vectors of one output row stay in registers while the row's elements stream by. Few vectors would wait for each other's sums
// where x is near: then there are more chains.
template <Rows R, int N, class V, class C>
static inline void row_panel(i64 k, i64 stop, i64 last, const C* crd, const V* values, const V* x, V* out, const Dense<V>& d) {
  constexpr int chains = R == Rows::near && N < 4 ? 4 / N : 1;
  constexpr i64 distance = R == Rows::scattered ? scatter_distance : N * vector_bytes > 512 ? 12 : 24;
  Vec<V> acc[chains][N];
  for (int u = 0; u < chains; ++u)
    for (int q = 0; q < N; ++q) acc[u][q] = Vec<V>{};
  const auto add = [&](Vec<V>* sums, i64 at) {
    const V* row = x + static_cast<i64>(crd[at]) * d.ldx;
    const Vec<V> v = splat(values[at]);
    for (int q = 0; q < N; ++q) sums[q] += v * load(row + q * lanes<V>);
  };
  if constexpr (chains > 1) {
    for (; k + chains <= stop; k += chains)
      for (int u = 0; u < chains; ++u) add(acc[u], k + u);
  }
  for (; k < stop; ++k) {
    if constexpr (R != Rows::near) {
      const V* ahead = x + static_cast<i64>(crd[k + distance < last ? k + distance : k]) * d.ldx;
      for (int q = 0; q < N * vector_bytes; q += 64) {
        const char* line = reinterpret_cast<const char*>(ahead) + q;
        if constexpr (R == Rows::scattered) prefetch_second(line);
        else prefetch(line);
      }
    }
    add(acc[0], k);
  }
  for (int u = chains / 2; u > 0; u /= 2)
    for (int w = 0; w < u; ++w)
      for (int q = 0; q < N; ++q) acc[w][q] += acc[w + u][q];
  const Vec<V> a = splat(d.alpha);
  for (int q = 0; q < N; ++q) {
    V* o = out + q * lanes<V>;
    Vec<V> r = a * acc[0][q];
    if (d.beta != V(0)) r += splat(d.beta) * load(o);
    store(o, r);
  }
}

template <Rows R, class V, class P, class C>
static void csr_spmm(i64 begin, i64 end, const P* pos, const C* crd, const V* values, const Dense<V>& d) {
  Past<V> past(d.out + begin * d.ldo);
  const i64 last = begin < end ? static_cast<i64>(pos[end]) : 0;
  for (i64 i = begin; i < end; ++i) {
    const i64 start = pos[i], stop = pos[i + 1];
    prefetch_stream(values + start);
    prefetch_stream(crd + start);
    V* out = d.past ? past.next() : d.out + i * d.ldo;
    i64 c = 0;
    constexpr int L = lanes<V>;
#define STRATA_PANELS(N) \
  for (; c + (N) * L <= d.columns; c += (N) * L) \
    row_panel<R, N>(start, stop, last, crd, values, d.x + c, out + c, d)
    if constexpr (max_accumulators >= 16) STRATA_PANELS(16);
    STRATA_PANELS(8);
    STRATA_PANELS(4);
    STRATA_PANELS(2);
    STRATA_PANELS(1);
#undef STRATA_PANELS
    // The last columns, fewer than one vector: four at a time, then one.
    for (; c < d.columns; ++c) {
      V s0 = 0, s1 = 0;
      i64 k = start;
      for (; k + 2 <= stop; k += 2) {
        s0 += values[k] * d.x[static_cast<i64>(crd[k]) * d.ldx + c];
        s1 += values[k + 1] * d.x[static_cast<i64>(crd[k + 1]) * d.ldx + c];
      }
      for (; k < stop; ++k) s0 += values[k] * d.x[static_cast<i64>(crd[k]) * d.ldx + c];
      finish(out + c, s0 + s1, d.alpha, d.beta);
    }
    if (d.past) past.push(d.columns);
  }
  if (d.past) past.finish();
}

// Elements of one row within a tile of x, from k on, added to N vectors of out; returns the first element behind the tile.
template <int N, class V, class C>
static inline i64 tile_panel(i64 k, i64 stop, i64 tile_end, const C* crd, const V* values, const V* x, V* out, const Dense<V>& d) {
  if (k == stop || static_cast<i64>(crd[k]) >= tile_end) return k;
  Vec<V> acc[N];
  for (int q = 0; q < N; ++q) acc[q] = load(out + q * lanes<V>);
  do {
    const V* row = x + static_cast<i64>(crd[k]) * d.ldx;
    const Vec<V> v = splat(d.alpha * values[k]);
    for (int q = 0; q < N; ++q) acc[q] += v * load(row + q * lanes<V>);
    ++k;
  } while (k < stop && static_cast<i64>(crd[k]) < tile_end);
  for (int q = 0; q < N; ++q) store(out + q * lanes<V>, acc[q]);
  return k;
}

// Columns [c, c + N vectors) of all rows: a tile of x stays in the second level while a block of rows passes over it. Columns of A
// ascend in each row.
template <int N, class V, class P, class C>
static void csr_tiles(i64 begin, i64 end, const P* pos, const C* crd, const V* values, i64 c, const Dense<V>& d) {
  constexpr i64 block = 256;
  const i64 tile = d.tile / (N * vector_bytes);
  i64 next[block];
  for (i64 b = begin; b < end; b += block) {
    const i64 rows = b + block <= end ? block : end - b;
    for (i64 r = 0; r < rows; ++r) {
      next[r] = pos[b + r];
      V* out = d.out + (b + r) * d.ldo + c;
      for (int q = 0; q < N; ++q) store(out + q * lanes<V>, d.beta == V(0) ? Vec<V>{} : splat(d.beta) * load(out + q * lanes<V>));
    }
    i64 left = static_cast<i64>(pos[b + rows]) - static_cast<i64>(pos[b]);
    for (i64 tile_end = tile; left > 0; tile_end += tile)
      for (i64 r = 0; r < rows; ++r) {
        const i64 k = tile_panel<N>(next[r], static_cast<i64>(pos[b + r + 1]), tile_end, crd, values, d.x + c, d.out + (b + r) * d.ldo + c, d);
        left -= k - next[r];
        next[r] = k;
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
  rest.past = false;  // its rows do not follow each other
  if (rest.columns > 0) csr_spmm<Rows::far>(begin, end, pos, crd, values, rest);
}

}  // namespace strata::kernels::STRATA_ISA
