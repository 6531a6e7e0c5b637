#pragma once
// Hand-written inner loops, compiled once per instruction set (x86-64-v3, x86-64-v4, or the compiler's default).
//
// The files of this folder include nothing that could emit a shared inline function: an inline function of the standard
// library, compiled here for AVX-512 and picked by the linker for the whole program, would crash on older machines.
#include <cstdint>

namespace strata::kernels {

using i64 = std::int64_t;
using i32 = std::int32_t;
using u64 = std::uint64_t;
using u32 = std::uint32_t;
using u16 = std::uint16_t;
using u8 = std::uint8_t;

/// Bytes of a row of a result (or of the rows of a block) that can go past the caches, at most.
inline constexpr i64 most_streaming_bytes = 4096;
/// Elements that a sum of matrices may write behind its last.
inline constexpr i64 most_united = 32;

/// Columns that blocks are multiplied with by hand, at most: one vector of AVX-512.
template <class V> inline constexpr i64 few_columns = 64 / sizeof(V);

/// Fours of elements that every row may be given (see Dense::fours).
inline constexpr i64 most_fours = 8;
/// In place of them: element by element (csr_spmv_singles).
inline constexpr i64 singles = -1;

/// Rows [begin, end) of a matrix product out = alpha * A * x + beta * out; x and out have `columns` columns of unit
/// stride and leading dimensions ldx, ldo (columns == 1: x and out are contiguous vectors, ldx = ldo = 1).
template <class V> struct Dense {
  const V* x;
  i64 ldx;
  V* out;
  i64 ldo;
  i64 columns;
  V alpha, beta;        ///< beta 0: out is not read
  bool stream;          ///< the matrix comes from memory: prefetch it (what lies in a cache is 15-25 % slower for that)
  bool beyond = false;  ///< the matrix does not fit the core's own caches
  bool second = false;  ///< scattered, and x is a vector: into the second level, which waits for more lines at a time
                        ///< than the first
  bool scattered =
      false;  ///< what rows choose of x is far and in no order: ask for it early (in a cache: 20 % slower for that)
  bool near = false;   ///< x stays in the core's own caches: nothing of it is asked for early (7 to 25 % faster)
  bool twice = false;  ///< rows of x are asked for into the second level, and from there into the first
  bool along = false;  ///< rows of A follow a diagonal: each asks for the row of x that lies `lead` behind its own
                       ///< number, and for no other
  i64 lead = 0;
  bool gathers = false;  ///< this processor's gathers are fast: where a vector is read by them
  bool streaming =
      false;  ///< out goes past the caches: more than is read again soon, in rows that follow each other, beta 0
  V alpha_im = 0,
    beta_im = 0;  ///< the imaginary parts, where numbers are pairs of V; x, ldx, out, ldo and columns count V then
  i64 fours = 0;  ///< elements / 4 that a row times a vector multiplies whatever its length, at most most_fours; 0: as
                  ///< many as it has; or `singles`
  i64 tile = 0;   ///< bytes of x that the rows pass over at a time; 0: all. Columns of A ascend then
};

/// One row of function pointers per element type; index types are pos/crd.
template <class V, class P, class C> struct IndexedLoops {
  /// CSR rows: pos has rows + 1 entries; nse bounds prefetching.
  void (*csr)(i64 begin, i64 end, const P* pos, const C* crd, const V* values, const Dense<V>& d);
  /// The same where all numbers are complex: pairs of V. Neither `tile` nor `gathers` is used.
  void (*complex_csr)(i64 begin, i64 end, const P* pos, const C* crd, const V* values, const Dense<V>& d);
  /// The sums of CSR rows: out = alpha * sums + beta * out; there is no x. Null without AVX-512.
  void (*row_sums)(i64 begin, i64 end, const P* pos, const V* values, const Dense<V>& d);
  /// Bitmap rows of words_per_row u64 words each, times a vector: pos has rows + 1 entries, of each row's first value;
  /// `limit` values may be read in all.
  void (*bitmap_vector)(i64 begin, i64 end, const u64* words, i64 words_per_row, const P* pos, const V* values,
                        i64 limit, i64 cols, const Dense<V>& d);
  /// Block rows of BSR, blocks of 3 x 3, times a vector. Null without AVX2.
  void (*bsr_3x3_vector)(i64 begin, i64 end, const P* pos, const C* crd, const V* values, const Dense<V>& d);
  /// Blocks of br x bc, br a multiple of 8, times at most few_columns. Null without AVX-512.
  void (*bsr_few_columns)(i64 begin, i64 end, const P* pos, const C* crd, const V* values, i64 br, i64 bc,
                          const Dense<V>& d);
};

/// CSR in tiles of `height` rows and `width` columns, `tiles` of them beside each other, times a vector.
struct Tiling {
  i64 height, width, tiles;
};

template <class V, class P, class C> struct TiledLoops {
  /// Rows [begin, end): row r of tile j of the b-th row of tiles begins at pos[(b * tiles + j) * height + r]; crd
  /// counts from the tile's first column.
  void (*tiled)(i64 begin, i64 end, const P* pos, const C* crd, const V* values, const Tiling& t, const Dense<V>& d);
};

template <class V, class P> struct SumLoops {
  /// Rows [begin, end) of A + B, or A - B, of two CSR matrices of so many columns, ascending and below 2^31 - 1:
  /// columns and values to `crd` and `values`, which have room for as many as both have in these rows and most_united
  /// more; where each row ends to `ends`. Gives how many came. Null where the instruction set cannot do it.
  i64 (*csr_add_rows)(i64 begin, i64 end, i64 columns, const P* apos, const i32* acrd, const V* avalues, const P* bpos,
                      const i32* bcrd, const V* bvalues, bool minus, i32* crd, V* values, i64* ends);
};

/// One product of an attention. Rows of queries, keys and values follow each other, and so do rows of the result.
template <class V> struct Attention {
  const V *q, *k, *v;
  i64 features, columns;  ///< of a query and a key; of a value
  V scale;
  const V* bias;    ///< is added to the scores: one for each element of the pattern, or null
  const V* hidden;  ///< the same for each key, or null
  V* out;
  V *one, *top;  ///< of each row: 1 / the sum of exp(score - top), 0 where there is none; its largest score
  V* scratch;    ///< room for the features of a query, and for the longest row, each in whole vectors
};

template <class V> struct PlainLoops {
  /// Rows [begin, end) of diagonals: values[k * stride + i] (by_row) or values[k * stride + j] (by column) at (i, i +
  /// offset[k]).
  void (*dia)(i64 begin, i64 end, const i64* offsets, i64 diagonals, const V* values, i64 stride, bool by_row, i64 cols,
              const Dense<V>& d);
  /// out[r][0 .. columns) = sum over d of x[r][d] * w[d * ldw ..]: rows anywhere, w's rows of unit stride.
  void (*fibres)(i64 count, const V* const* x, V* const* out, i64 depth, const V* w, i64 ldw, i64 columns);
  /// Rows [begin, end) of softmax(scale * q @ k.T + bias) @ v, each over the keys that its row of a CSR pattern stores.
  void (*attend)(i64 begin, i64 end, const i64* pos, const i32* crd, const Attention<V>& a);
};

template <class V> struct ValueLoops {
  IndexedLoops<V, i32, i32> i32_i32;
  IndexedLoops<V, i64, i64> i64_i64;
  IndexedLoops<V, i64, i32> i64_i32;
  IndexedLoops<V, i32, u16> i32_u16;  ///< narrow matrices: half the index bytes
  TiledLoops<V, i32, u8> tiled_i32_u8;
  TiledLoops<V, i32, u16> tiled_i32_u16;
  TiledLoops<V, i32, i32> tiled_i32_i32;
  TiledLoops<V, i64, i64> tiled_i64_i64;
  SumLoops<V, i32> sum_i32;
  SumLoops<V, i64> sum_i64;
  PlainLoops<V> plain;
};

struct LoopTable {
  const char* isa;
  /// Do CSR products read rows of x by whole lines, though they begin inside of one?
  bool (*by_lines)(const void* x, i64 element_bytes, i64 ldx, i64 columns);
  /// Do rows of a result of CSR go past the caches from registers?
  bool (*streams_by_rows)(const void* out, i64 row_bytes);
  ValueLoops<double> f64;
  ValueLoops<float> f32;
};

/// Bytes between asking for what streams by element for element and reading it, on this machine.
extern const i64 stream_ahead;

/// The table for this machine.
const LoopTable& loops();
/// Are this processor's gathers faster than loads one by one?
bool fast_gathers();

}  // namespace strata::kernels
