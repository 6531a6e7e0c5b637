#pragma once
// Rows of a few columns each, wherever they lie, times one dense matrix.
#include "kernels/isa/vector.h"

namespace strata::kernels::STRATA_ISA {

/// R rows times N vectors of columns of w from one depth to another; what is there is added to.
template <int R, int N, class V>
static inline void fibres_tile(const V* const* x, V* const* out, i64 column, i64 from, i64 depth, const V* w, i64 ldw) {
  constexpr int L = lanes<V>;
  Vec<V> acc[R][N];
  for (int r = 0; r < R; ++r)
    for (int q = 0; q < N; ++q) acc[r][q] = from > 0 ? load(out[r] + column + q * L) : Vec<V>{};
  for (i64 d = 0; d < depth; ++d) {
    Vec<V> b[N];
    for (int q = 0; q < N; ++q) b[q] = load(w + d * ldw + q * L);
    for (int r = 0; r < R; ++r) {
      const Vec<V> a = splat(x[r][from + d]);
      for (int q = 0; q < N; ++q) acc[r][q] += a * b[q];
    }
  }
  for (int r = 0; r < R; ++r)
    for (int q = 0; q < N; ++q) store(out[r] + column + q * L, acc[r][q]);
}

template <int N, class V>
static void fibres_columns(i64 count, const V* const* x, V* const* out, i64 column, i64 from, i64 depth, const V* w,
                           i64 ldw) {
  constexpr int R = vector_bytes == 64 ? 8 : 4;
  i64 r = 0;
  for (; r + R <= count; r += R) fibres_tile<R, N>(x + r, out + r, column, from, depth, w, ldw);
  for (; r + 2 <= count; r += 2) fibres_tile<2, N>(x + r, out + r, column, from, depth, w, ldw);
  for (; r < count; ++r) fibres_tile<1, N>(x + r, out + r, column, from, depth, w, ldw);
}

/// Held: the compiler would make a call of each copy.
template <int N, class V> static inline void pack(i64 depth, const V* w, i64 ldw, V* panel) {
  constexpr int L = lanes<V>;
  for (i64 k = 0; k < depth; ++k)
    for (int q = 0; q < N; ++q) store(panel + (k * N + q) * L, held<V>(load(w + k * ldw + q * L)));
}

template <class V>
void fibres(i64 count, const V* const* x, V* const* out, i64 depth, const V* w, i64 ldw, i64 columns) {
  constexpr int L = lanes<V>;
  constexpr i64 wide = 2 * L,
                deep = 16384 / (wide * static_cast<i64>(sizeof(V)));  // a panel of w: a third of the first level
  alignas(64) V panel[static_cast<std::size_t>(wide * deep)];
  for (i64 c = 0; c < columns;) {
    const i64 width = columns - c >= wide ? wide : columns - c >= L ? L : 1;
    for (i64 from = 0; from < depth || from == 0; from += deep) {
      const i64 d = depth - from < deep ? depth - from : deep;
      const V* part = w + from * ldw + c;
      i64 ld = ldw;
      if (count > 8 && width > 1) {  // rows of w that lie a power of two apart would fall into few sets of the cache
        if (width == wide) pack<2>(d, part, ldw, panel);
        else pack<1>(d, part, ldw, panel);
        part = panel;
        ld = width;
      }
      if (width == wide) {
        fibres_columns<2>(count, x, out, c, from, d, part, ld);
      } else if (width == L) {
        fibres_columns<1>(count, x, out, c, from, d, part, ld);
      } else {
        for (i64 r = 0; r < count; ++r) {
          V sum = from > 0 ? out[r][c] : V(0);
          for (i64 k = 0; k < d; ++k) sum += x[r][from + k] * part[k * ld];
          out[r][c] = sum;
        }
      }
    }
    c += width;
  }
}

}  // namespace strata::kernels::STRATA_ISA
