#pragma once
#include "kernels/isa/past.h"

namespace strata::kernels::STRATA_ISA {

// One block row times a vector. R rows of sums stay in registers; R and C are constants for the common block sizes.
template <int R, int C, bool ColumnMajor, class V, class P, class J>
static void bsr_spmv_fixed(i64 begin, i64 end, const P* pos, const J* crd, const V* values, const Dense<V>& d) {
  for (i64 b = begin; b < end; ++b) {
    V acc[R];
    for (int r = 0; r < R; ++r) acc[r] = 0;
    const i64 stop = pos[b + 1];
    for (i64 k = pos[b]; k < stop; ++k) {
      const V* block = values + k * (R * C);
      const V* x = d.x + static_cast<i64>(crd[k]) * C;
      if (d.stream) {
        for (int q = 0; q < R * C; q += 64 / static_cast<int>(sizeof(V))) prefetch_blocks(block + q);
        if (!(k & 15)) prefetch_blocks(crd + k);
      }
      for (int c = 0; c < C; ++c)
        for (int r = 0; r < R; ++r) acc[r] += (ColumnMajor ? block[c * R + r] : block[r * C + c]) * x[c];
    }
    for (int r = 0; r < R; ++r) finish(d.out + b * R + r, acc[r], d.alpha, d.beta);
  }
}

// Blocks of 2 x 2 and 3 x 3, row-major: a vector holds a whole block or one of its rows; several chains hide the latency of fma.
template <class V> struct FourOf {
  typedef V type __attribute__((vector_size(4 * sizeof(V)), aligned(sizeof(V)), may_alias));
};
template <class V> using V4 = typename FourOf<V>::type;
// By reference: vectors wider than the instruction set's registers are not passed by value.
template <class V> static inline const V4<V>& four(const V* p) { return *reinterpret_cast<const V4<V>*>(p); }
/// Three elements; nothing behind them is read.
#if defined(__AVX2__)
static inline void load3(V4<double>& to, const double* p) { to = (V4<double>)_mm256_maskload_pd(p, _mm256_setr_epi64x(-1, -1, -1, 0)); }
static inline void load3(V4<float>& to, const float* p) { to = (V4<float>)_mm_maskload_ps(p, _mm_setr_epi32(-1, -1, -1, 0)); }
#else
template <class V> static inline void load3(V4<V>& to, const V* p) { to = V4<V>{p[0], p[1], p[2], V(0)}; }
#endif

template <class V, class P, class J> static void bsr_spmv_2x2(i64 begin, i64 end, const P* pos, const J* crd, const V* values, const Dense<V>& d) {
  for (i64 b = begin; b < end; ++b) {
    V4<V> acc[4] = {};
    i64 k = pos[b];
    const i64 stop = pos[b + 1];
    const auto add = [&](V4<V>& sum, i64 at) {
      const V* x = d.x + 2 * static_cast<i64>(crd[at]);
      sum += four(values + 4 * at) * V4<V>{x[0], x[1], x[0], x[1]};
    };
    for (; k + 4 <= stop; k += 4) {
      if (d.stream) {
        for (int q = 0; q < 16; q += 64 / static_cast<int>(sizeof(V))) prefetch_blocks(values + 4 * k + q);
        if (!(k & 12)) prefetch_blocks(crd + k);
      }
      for (int q = 0; q < 4; ++q) add(acc[q], k + q);
    }
    for (; k < stop; ++k) add(acc[0], k);
    const V4<V> sum = (acc[0] + acc[1]) + (acc[2] + acc[3]);
    finish(d.out + 2 * b, sum[0] + sum[1], d.alpha, d.beta);
    finish(d.out + 2 * b + 1, sum[2] + sum[3], d.alpha, d.beta);
  }
}

template <class V, class P, class J> static void bsr_spmv_3x3(i64 begin, i64 end, const P* pos, const J* crd, const V* values, const Dense<V>& d) {
  for (i64 b = begin; b < end; ++b) {
    V4<V> acc[2][3] = {};
    i64 k = pos[b];
    const i64 stop = pos[b + 1];
    // The lane beside a row's three elements holds a neighbour's, whatever it is: it is never summed. The last row is read from one
    // element before, as nothing may be read behind it.
    const auto add = [&](V4<V>* sum, i64 at) {
      const V* block = values + 9 * at;
      V4<V> x;
      load3(x, d.x + 3 * static_cast<i64>(crd[at]));
      const V4<V> shifted = {x[3], x[0], x[1], x[2]};
      sum[0] += four(block) * x;
      sum[1] += four(block + 3) * x;
      sum[2] += four(block + 5) * shifted;
    };
    for (; k + 2 <= stop; k += 2) {
      if (d.stream) {
        for (int q = 0; q < 18; q += 64 / static_cast<int>(sizeof(V))) prefetch_blocks(values + 9 * k + q);
        if (!(k & 14)) prefetch_blocks(crd + k);
      }
      add(acc[0], k);
      add(acc[1], k + 1);
    }
    if (k < stop) add(acc[0], k);
    for (int r = 0; r < 3; ++r) acc[0][r] += acc[1][r];
    finish(d.out + 3 * b, acc[0][0][0] + acc[0][0][1] + acc[0][0][2], d.alpha, d.beta);
    finish(d.out + 3 * b + 1, acc[0][1][0] + acc[0][1][1] + acc[0][1][2], d.alpha, d.beta);
    finish(d.out + 3 * b + 2, acc[0][2][1] + acc[0][2][2] + acc[0][2][3], d.alpha, d.beta);
  }
}

// Wide blocks, row-major: R rows at a time, the dot products in vectors along the block's columns.
template <int R, class V, class P, class J>
static void bsr_spmv_wide(i64 begin, i64 end, const P* pos, const J* crd, const V* values, i64 br, i64 bc, const Dense<V>& d) {
  constexpr int L = lanes<V>;
  for (i64 b = begin; b < end; ++b)
    for (i64 r0 = 0; r0 < br; r0 += R) {
      Vec<V> acc[R];
      for (int r = 0; r < R; ++r) acc[r] = Vec<V>{};
      for (i64 k = pos[b]; k < static_cast<i64>(pos[b + 1]); ++k) {
        const V* block = values + k * br * bc + r0 * bc;
        const V* x = d.x + static_cast<i64>(crd[k]) * bc;
        if (d.stream)
          for (i64 q = 0; q < R * bc; q += 64 / static_cast<i64>(sizeof(V))) prefetch_blocks(block + q);
        for (i64 c = 0; c < bc; c += L) {
          const Vec<V> xv = load(x + c);
          for (int r = 0; r < R; ++r) acc[r] += load(block + r * bc + c) * xv;
        }
      }
      for (int r = 0; r < R; ++r) finish(d.out + b * br + r0 + r, sum_lanes<V>(acc[r]), d.alpha, d.beta);
    }
}

// R rows x N vectors of out in registers over a block row. What the core's caches do not hold is asked for early, once: A's lines, the same
// rows of a block at least 2 KB ahead (small blocks from memory: 1.1 to 1.2 times as fast; wide ones on Zen 4, whose prefetchers stop where
// the next block's rows lie elsewhere: 1.1 to 3.3 times), where x is far its rows a dozen ahead (from 64 columns on: 1.2 to 1.4 times).
template <int R, int N, class V, class P, class J>
static inline void bsr_panel(i64 b, i64 r0, i64 br, i64 bc, bool column_major, i64 cols, const P* pos, const J* crd, const V* values, const V* x, V* out,
                             const Dense<V>& d) {
  constexpr int L = lanes<V>;
  Vec<V> acc[R][N];
  for (int r = 0; r < R; ++r)
    for (int q = 0; q < N; ++q) acc[r][q] = Vec<V>{};
  const i64 row_step = column_major ? 1 : bc, column_step = column_major ? br : 1;
  constexpr i64 line = 64 / static_cast<i64>(sizeof(V)), least_ahead = 2048 / static_cast<i64>(sizeof(V));
  const i64 size = br * bc, ahead = (least_ahead + size - 1) / size * size;  // the same rows of a later block
  const bool ask_a = x == d.x && (d.stream || (d.beyond && size >= 64));
  const i64 distance = d.near || r0 > 0 || N * vector_bytes < 256 ? 0 : bc < 12 ? 12 / bc : 1, stop = pos[b + 1];
  for (i64 k = pos[b]; k < stop; ++k) {
    const V* block = values + k * br * bc + r0 * row_step;
    const i64 j0 = static_cast<i64>(crd[k]) * bc;
    if (ask_a)
      for (i64 q = 0; q < R * bc; q += line) prefetch(values + k * br * bc + r0 * bc + q + ahead);
    if (distance > 0 && k + distance < stop) {
      const V* later = x + static_cast<i64>(crd[k + distance]) * bc * d.ldx;
      for (i64 c = 0; c < bc; ++c, later += d.ldx) prefetch_row<N, false>(later, is_astray(later));
    }
    const i64 width = j0 + bc <= cols ? bc : cols - j0;
    const V* row = x + j0 * d.ldx;
    for (i64 c = 0; c < width; ++c, row += d.ldx) {
      // Beside the R x N sums either N vectors of x and one value, or R values and one vector of x: all of it in registers.
      if constexpr (N <= R) {
        Vec<V> xv[N];
        for (int q = 0; q < N; ++q) xv[q] = held<V>(load(row + q * L));
        for (int r = 0; r < R; ++r) {
          const Vec<V> v = splat(block[r * row_step + c * column_step]);
          for (int q = 0; q < N; ++q) acc[r][q] += v * xv[q];
        }
      } else {
        Vec<V> v[R];
        for (int r = 0; r < R; ++r) v[r] = splat(block[r * row_step + c * column_step]);
        for (int q = 0; q < N; ++q) {
          const Vec<V> xv = held<V>(load(row + q * L));
          for (int r = 0; r < R; ++r) acc[r][q] += v[r] * xv;
        }
      }
    }
  }
  for (int r = 0; r < R; ++r)
    for (int q = 0; q < N; ++q) {
      V* o = out + (r0 + r) * d.ldo + q * L;
      Vec<V> s = splat(d.alpha) * acc[r][q];
      if (d.beta != V(0)) s += splat(d.beta) * load(o);
      store(o, s);
    }
}

// Any block size, any number of columns, clipped at the matrix's border.
template <class V, class P, class J>
static void bsr_any(i64 b, i64 r0, i64 r1, i64 c0, i64 c1, i64 br, i64 bc, bool column_major, i64 rows, i64 cols, const P* pos, const J* crd, const V* values,
                    V* out, const Dense<V>& d) {
  for (i64 r = r0; r < r1 && b * br + r < rows; ++r)
    for (i64 c = c0; c < c1; ++c) {
      V sum = 0;
      for (i64 k = pos[b]; k < static_cast<i64>(pos[b + 1]); ++k) {
        const i64 j0 = static_cast<i64>(crd[k]) * bc, width = j0 + bc <= cols ? bc : cols - j0;
        const V* block = values + k * br * bc + (column_major ? r : r * bc);
        const i64 step = column_major ? br : 1;
        for (i64 j = 0; j < width; ++j) sum += block[j * step] * d.x[(j0 + j) * d.ldx + c];
      }
      finish(out + r * d.ldo + c, sum, d.alpha, d.beta);
    }
}

template <class V, class P, class J>
void bsr(i64 begin, i64 end, const P* pos, const J* crd, const V* values, i64 br, i64 bc, bool column_major, i64 rows, i64 cols, const Dense<V>& d) {
  constexpr int L = lanes<V>;
  // Only the last block row and blocks in the last block column can overhang; a matrix that divides has neither.
  const bool divides = rows % br == 0 && cols % bc == 0;
  if (d.columns == 1 && d.ldx == 1 && d.ldo == 1 && divides) {
    if (!column_major && br == 2 && bc == 2) return bsr_spmv_2x2(begin, end, pos, crd, values, d);
    if (!column_major && br == 3 && bc == 3) return bsr_spmv_3x3(begin, end, pos, crd, values, d);
    // From a cache vectors along the rows win; from memory one pass over whole blocks does.
    const bool wide = !column_major && bc % L == 0 && br % 4 == 0;
    if (wide && !d.stream) return bsr_spmv_wide<4>(begin, end, pos, crd, values, br, bc, d);
#define STRATA_FIXED(R, C) \
  if (br == R && bc == C) \
    return column_major ? bsr_spmv_fixed<R, C, true>(begin, end, pos, crd, values, d) : bsr_spmv_fixed<R, C, false>(begin, end, pos, crd, values, d)
    if (column_major) {
      STRATA_FIXED(2, 2);
      STRATA_FIXED(3, 3);
    }
    STRATA_FIXED(4, 4);
    STRATA_FIXED(6, 6);
    STRATA_FIXED(8, 8);
#undef STRATA_FIXED
    if (wide) return bsr_spmv_wide<4>(begin, end, pos, crd, values, br, bc, d);
    if (!column_major && bc % L == 0) return bsr_spmv_wide<1>(begin, end, pos, crd, values, br, bc, d);
  }
  const i64 whole = d.columns / L * L;
  const bool goes_past = d.past && br * d.columns * static_cast<i64>(sizeof(V)) <= most_past_bytes;
  Past<V> past(d.out + begin * br * d.ldo);
  for (i64 b = begin; b < end; ++b) {
    const i64 height = b * br + br <= rows ? br : rows - b * br;
    V* out = goes_past ? past.next() : d.out + b * br * d.ldo;
    // Rows six at a time (the fewest loads per fma that 16 registers allow), then four or three so that no single row is left over. Where
    // columns are few, more rows keep more sums going (with 32 registers), but not where these are many lines of A.
    const i64 many = max_accumulators < 16 || whole > 3 * L ? 0 : whole == L && bc * static_cast<i64>(sizeof(V)) <= 64 ? 16 : 8;
    for (i64 r = 0; r < height;) {
      const i64 left = height - r, six = left == 7 || left == 8 ? 4 : left >= 6 ? 6 : left == 5 ? 3 : left;
      const i64 take = many > 0 && left >= many ? many : many > 0 && left >= 8 ? 8 : six;
      i64 c = 0;
#define STRATA_TILE(R, N) \
  for (; c + (N) * L <= whole; c += (N) * L) bsr_panel<R, N>(b, r, br, bc, column_major, cols, pos, crd, values, d.x + c, out + c, d)
#define STRATA_TILES(R, WIDE, MIDDLE, NARROW) \
  case R: \
    if constexpr (max_accumulators >= 16) { \
      STRATA_TILE(R, WIDE); \
      STRATA_TILE(R, MIDDLE); \
    } \
    STRATA_TILE(R, NARROW); \
    STRATA_TILE(R, 2); \
    STRATA_TILE(R, 1); \
    break
      switch (take) {
        case 16:
          if constexpr (max_accumulators >= 16) STRATA_TILE(16, 1);
          break;
        case 8:
          if constexpr (max_accumulators >= 16) {
            STRATA_TILE(8, 3);
            STRATA_TILE(8, 2);
            STRATA_TILE(8, 1);
          }
          break;
        STRATA_TILES(6, 4, 3, 2);
        STRATA_TILES(4, 6, 4, 2);
        STRATA_TILES(3, 8, 4, 4);
        STRATA_TILES(2, 8, 4, 4);
        STRATA_TILES(1, 16, 8, 8);
      }
#undef STRATA_TILES
#undef STRATA_TILE
      if (c < d.columns) bsr_any(b, r, r + take, c, d.columns, br, bc, column_major, rows, cols, pos, crd, values, out, d);
      r += take;
    }
    if (goes_past) past.push(height * d.columns);
  }
  if (goes_past) past.finish();
}

}  // namespace strata::kernels::STRATA_ISA
