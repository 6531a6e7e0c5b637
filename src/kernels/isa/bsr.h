#pragma once
// Blocks times several columns: R rows x N vectors of the result stay in registers while a block row streams by.
#include "kernels/isa/bsr_spmv.h"
#include "kernels/isa/places.h"
#include "kernels/isa/streaming_stores.h"

namespace strata::kernels::STRATA_ISA {

/// The blocks of a matrix as the loops see them.
template <class V, class J> struct Blocks {
  const J* crd;
  const V* values;
  i64 rows, columns;  ///< of a block
  bool column_major;
  i64 last;  ///< slots before the end of the block rows that are walked: none behind them is asked for
  i64 matrix_columns;
};

/// Square blocks of known extent that none overhangs have loops of their own: what a block takes besides its
/// multiply-adds is a third of the time for 2 x 2. (Granite Rapids, x in a cache: 2 x 2 0.7 of the time, 3 x 3 0.75 to
/// 0.9, 4 x 4 0.8 up to four vectors; not behind.)
template <int R, int N> inline constexpr bool has_squares = R == 2 || R == 3 || (R == 4 && N <= 4);

// What the core's caches do not hold is asked for early, once. Of A the lines of the same rows of a block at least 2 KB
// ahead (small blocks from memory: 1.1 to 1.2 times as fast; wide ones on Zen 4, whose prefetchers stop where the next
// block's rows lie elsewhere: 1.1 to 3.3 times). Of x, where it is far, rows of blocks a dozen ahead (from 64 columns
// on: 1.2 to 1.4 times; narrower ones pay in square blocks alone, three dozen ahead: 1.2 to 1.25 times). Of square
// blocks that lie side by side the last one will do: the others' rows were asked for by the rows of A above, if they
// lie in bands, and are lines too few to matter if they do not. C: columns of a square block; 0: the extents are known
// at run time only.
template <int R, int N, int C, template <int, class> class Place, class V, class J>
static inline void bsr_panel(const Blocks<V, J>& a, i64 k, i64 stop, i64 r0, const V* x, V* out, const Dense<V>& d) {
  constexpr int M = Place<N, V>::vectors;
  constexpr i64 line = 64 / static_cast<i64>(sizeof(V)), least_ahead = 2048 / static_cast<i64>(sizeof(V));
  const J* const crd = a.crd;
  const V* const values = a.values;
  const i64 br = C > 0 ? R : a.rows, bc = C > 0 ? C : a.columns, last = a.last, cols = a.matrix_columns, ldx = d.ldx;
  const i64 row_step = C > 0 || !a.column_major ? bc : 1, column_step = C > 0 || !a.column_major ? 1 : br;
  const i64 size = br * bc, ahead = (least_ahead + size - 1) / size * size;  // the same rows of a later block
  const bool ask_a = x == d.x && (d.stream || (d.beyond && size >= 64)), wide = N * vector_bytes >= 256;
  const i64 distance = d.near || r0 > 0 ? 0 : C > 0 ? (wide ? 12 : 36) : !wide ? 0 : bc < 12 ? 12 / bc : 1;
  const Place<N, V> place(x, d.columns - (x - d.x));
  const V* const base = place.begin(x);
  Vec<V> acc[R][M];
#pragma GCC unroll 16
  for (int r = 0; r < R; ++r)
#pragma GCC unroll 17
    for (int q = 0; q < M; ++q) acc[r][q] = Vec<V>{};
  // Beside the R x M sums either M vectors of x and one value, or R values and one vector of x: all of it in registers.
  const auto add = [&](const V* column, const V* row) __attribute__((always_inline)) {
    if constexpr (M <= R) {
      Vec<V> xv[M];
#pragma GCC unroll 17
      for (int q = 0; q < M; ++q) xv[q] = held<V>(place.read(row, q));
#pragma GCC unroll 16
      for (int r = 0; r < R; ++r) {
        const Vec<V> v = splat(column[r * row_step]);
#pragma GCC unroll 17
        for (int q = 0; q < M; ++q) acc[r][q] += v * xv[q];
      }
    } else {
      Vec<V> v[R];
#pragma GCC unroll 16
      for (int r = 0; r < R; ++r) v[r] = splat(column[r * row_step]);
#pragma GCC unroll 17
      for (int q = 0; q < M; ++q) {
        const Vec<V> xv = held<V>(place.read(row, q));
#pragma GCC unroll 16
        for (int r = 0; r < R; ++r) acc[r][q] += v[r] * xv;
      }
    }
  };
  for (; k < stop; ++k) {
    const V* block = values + k * size + r0 * row_step;
    const i64 j0 = static_cast<i64>(crd[k]) * bc;
    if (ask_a)
      for (i64 q = 0; q < R * bc; q += line) prefetch(values + k * size + r0 * bc + q + ahead);
    const i64 next = k + distance;
    if (distance > 0 && (C > 0 ? next + 1 < last && crd[next + 1] != crd[next] + 1 : next < stop)) {
      const V* later = x + static_cast<i64>(crd[next]) * bc * ldx;
      for (i64 c = 0; c < bc; ++c, later += ldx) prefetch_row<N, false>(later, is_astray(later));
    }
    const V* row = base + j0 * ldx;
    if constexpr (C > 0) {
#pragma GCC unroll 4
      for (int c = 0; c < C; ++c, row += ldx) add(block + c, row);
    } else {
      const i64 width = j0 + bc <= cols ? bc : cols - j0;
      for (i64 c = 0; c < width; ++c, row += ldx) add(block + c * column_step, row);
    }
  }
  const Vec<V> alpha = splat(d.alpha);
  const V beta = d.beta;
  const i64 ldo = d.ldo;
  out = place.begin(out) + r0 * ldo;
#pragma GCC unroll 16
  for (int r = 0; r < R; ++r) {
#pragma GCC unroll 17
    for (int q = 0; q < M; ++q) {
      Vec<V> s = alpha * acc[r][q];
      if (beta != V(0)) s += splat(beta) * place.read(out + r * ldo, q);
      place.write(out + r * ldo, q, s);
    }
  }
}

/// `square`: see has_squares. `lines`: rows of x are read by whole lines, wherever they begin (square blocks alone,
/// whose rows take each line of x two or three times only: 2 x 2 with 64 columns of float64 1.3 times as fast, 3 x
/// 3 1.1).
template <int R, int N, class V, class J>
static inline void bsr_tile(const Blocks<V, J>& a, [[maybe_unused]] bool square, [[maybe_unused]] bool lines, i64 k,
                            i64 stop, i64 r0, const V* x, V* out, const Dense<V>& d) {
  if constexpr (has_squares<R, N>) {
#if defined(__AVX512F__)
    if constexpr (N >= 4 && R <= 3)
      if (square && lines) return bsr_panel<R, N, R, ByLines>(a, k, stop, r0, x, out, d);
#endif
    if (square) return bsr_panel<R, N, R, Plain>(a, k, stop, r0, x, out, d);
  }
  bsr_panel<R, N, 0, Plain>(a, k, stop, r0, x, out, d);
}

// Any block size, any number of columns, clipped at the matrix's right border.
template <class V, class J>
static void bsr_any(const Blocks<V, J>& a, i64 begin, i64 stop, i64 r0, i64 r1, i64 c0, i64 c1, V* out,
                    const Dense<V>& d) {
  const i64 br = a.rows, bc = a.columns;
  for (i64 r = r0; r < r1; ++r)
    for (i64 c = c0; c < c1; ++c) {
      V sum = 0;
      for (i64 k = begin; k < stop; ++k) {
        const i64 j0 = static_cast<i64>(a.crd[k]) * bc,
                  width = j0 + bc <= a.matrix_columns ? bc : a.matrix_columns - j0;
        const V* block = a.values + k * br * bc + (a.column_major ? r : r * bc);
        const i64 step = a.column_major ? br : 1;
        for (i64 j = 0; j < width; ++j) sum += block[j * step] * d.x[(j0 + j) * d.ldx + c];
      }
      finish(out + r * d.ldo + c, sum, d.alpha, d.beta);
    }
}

template <class V, class P, class J>
void bsr(i64 begin, i64 end, const P* pos, const J* crd, const V* values, i64 br, i64 bc, bool column_major, i64 rows,
         i64 cols, const Dense<V>& d) {
  constexpr int L = lanes<V>;
  // Only the last block row and blocks in the last block column can overhang; a matrix that divides has neither.
  const bool divides = rows % br == 0 && cols % bc == 0;
  if (is_vector(d) && divides && bsr_spmv(begin, end, pos, crd, values, br, bc, column_major, d)) return;
  const i64 whole = d.columns / L * L;
  const Blocks<V, J> a{crd, values, br, bc, column_major, begin < end ? static_cast<i64>(pos[end]) : 0, cols};
  const bool square = br == bc && !column_major && divides, lines = by_lines(d.x, sizeof(V), d.ldx, d.columns);
  const bool streams = d.streaming && br * d.columns * static_cast<i64>(sizeof(V)) <= most_streaming_bytes;
  StreamingStores<V> stream(d.out + begin * br * d.ldo);
  for (i64 b = begin; b < end; ++b) {
    const i64 k = pos[b], stop = pos[b + 1], height = b * br + br <= rows ? br : rows - b * br;
    V* out = streams ? stream.next() : d.out + b * br * d.ldo;
    // Rows six at a time (the fewest loads per fma that 16 registers allow), then four or three so that no single row
    // is left over. Where columns are few, more rows keep more sums going (with 32 registers), but not where these are
    // many lines of A.
    const i64 many = max_accumulators < 16 || whole > 3 * L                 ? 0
                     : whole == L && bc * static_cast<i64>(sizeof(V)) <= 64 ? 16
                                                                            : 8;
    for (i64 r = 0; r < height;) {
      const i64 left = height - r, six = left == 7 || left == 8 ? 4 : left >= 6 ? 6 : left == 5 ? 3 : left;
      const i64 take = many > 0 && left >= many ? many : many > 0 && left >= 8 ? 8 : six;
      i64 c = 0;
#define STRATA_TILE(R, N)                    \
  for (; c + (N) * L <= whole; c += (N) * L) \
  bsr_tile<R, N>(a, square && br == (R), lines, k, stop, r, d.x + c, out + c, d)
#if defined(__AVX2__)
#define STRATA_TAIL(R) \
  if (c < d.columns) bsr_panel<R, 1, 0, Tail>(a, k, stop, r, d.x + c, out + c, d), c = d.columns
#else
#define STRATA_TAIL(R)
#endif
#define STRATA_TILES(R, WIDE, MIDDLE, NARROW) \
  case R:                                     \
    if constexpr (max_accumulators >= 16) {   \
      STRATA_TILE(R, WIDE);                   \
      STRATA_TILE(R, MIDDLE);                 \
    }                                         \
    STRATA_TILE(R, NARROW);                   \
    STRATA_TILE(R, 2);                        \
    STRATA_TILE(R, 1);                        \
    STRATA_TAIL(R);                           \
    break
      switch (take) {
        case 16:
          if constexpr (max_accumulators >= 16) {
            STRATA_TILE(16, 1);
            STRATA_TAIL(16);
          }
          break;
        case 8:
          if constexpr (max_accumulators >= 16) {
            STRATA_TILE(8, 3);
            STRATA_TILE(8, 2);
            STRATA_TILE(8, 1);
            STRATA_TAIL(8);
          }
          break;
          STRATA_TILES(6, 4, 3, 2);
          STRATA_TILES(4, 6, 4, 2);
          STRATA_TILES(3, 8, 4, 4);
          STRATA_TILES(2, 8, 4, 4);
          STRATA_TILES(1, 16, 8, 8);
      }
#undef STRATA_TILES
#undef STRATA_TAIL
#undef STRATA_TILE
      if (c < d.columns) bsr_any(a, k, stop, r, r + take, c, d.columns, out, d);
      r += take;
    }
    if (streams) stream.push(height * d.columns);
  }
  if (streams) stream.finish();
}

}  // namespace strata::kernels::STRATA_ISA
