#pragma once
// How rows of a dense operand are read, and those of a result written. A place is made from the row of x and the
// columns that are left from there.
#include "kernels/isa/vector.h"

namespace strata::kernels::STRATA_ISA {

// N vectors of a row of x or of the result, where these lie.
template <int N, class V> struct ByVectors {
  static constexpr int vectors = N;
  ByVectors(const V*, i64) {}
  static const V* begin(const V* row) { return row; }
  static V* begin(V* row) { return row; }
  static Vec<V> read(const V* row, int q) { return load(row + q * lanes<V>); }
  static void write(V* row, int q, Vec<V> v) { store(row + q * lanes<V>, v); }
#if defined(__AVX2__) && !defined(__AVX512F__)
  static Vec<V> whole(const Vec<V>* sums, int q) { return sums[q]; }
#endif
};

#if defined(__AVX512F__)
// The same where all rows of x begin inside of a line (NumPy's large arrays do): by the lines that they touch, one
// more, of which the first and the last are not whole. A vector across two lines would take as long as two. (From the
// first level 1.4 times as fast, from the second 1.15, level behind it.)
template <int N, class V> struct ByLines {
  static constexpr int vectors = N + 1;
  ByLines(const V* x, i64)
      : lead(static_cast<int>(reinterpret_cast<std::uintptr_t>(x) % 64 / sizeof(V))),
        first(static_cast<u16>(~0u << lead)),
        last(static_cast<u16>(~(~0u << lead))) {}
  const V* begin(const V* row) const { return row - lead; }
  V* begin(V* row) const { return row - lead; }
  [[gnu::always_inline]] Vec<V> read(const V* row, int q) const {
    const V* p = row + q * lanes<V>;
    return q == 0 ? load_some(first, p) : q == N ? load_some(last, p) : load(p);
  }
  [[gnu::always_inline]] void write(V* row, int q, Vec<V> v) const {
    V* p = row + q * lanes<V>;
    if (q == 0) store_some(first, p, v);
    else if (q == N) store_some(last, p, v);
    else store(p, v);
  }
  int lead;  // elements of the first line that belong to the row before
  u16 first, last;
};
#elif defined(__AVX2__)
// The same where all rows of x begin half a vector behind a line (NumPy's large arrays do): vectors that no line cuts,
// the last of them what is left on both sides. (From the core's own caches 0.87 to 0.95 of the time; with masks, for
// any place, 0.91 to 1.16.)
template <int N, class V> struct ByLines {
  static constexpr int vectors = N, half = lanes<V> / 2;
  ByLines(const V*, i64) {}
  static const V* begin(const V* row) { return row; }
  static V* begin(V* row) { return row; }
  [[gnu::always_inline]] static Vec<V> read(const V* row, int q) {
    const V* p = row + half + q * lanes<V>;
    return q == N - 1 ? load_halves(p, row) : load(p);
  }
  [[gnu::always_inline]] static void write(V* row, int q, Vec<V> v) {
    V* p = row + half + q * lanes<V>;
    if (q == N - 1) store_halves(p, row, v);
    else store(p, v);
  }
  /// Vector q of the row as memory has it.
  [[gnu::always_inline]] static Vec<V> whole(const Vec<V>* sums, int q) {
    return across<V>(sums[q == 0 ? N - 1 : q - 1], sums[q]);
  }
};
#endif

#if defined(__AVX512F__)
// Few columns, in parts of so many bytes, the last of which is not whole where `Masked`: a load of 64 bytes crosses a
// line nearly always, even where few of its lanes are wanted.
template <class V, int Bytes, int Parts, bool Masked> struct Narrow {
  static constexpr int parts = Parts, part_lanes = Bytes / static_cast<int>(sizeof(V));
  typedef V type __attribute__((vector_size(Bytes), aligned(sizeof(V)), may_alias));
  explicit Narrow(i64 columns) : which(static_cast<u8>((1u << (columns - (Parts - 1) * part_lanes)) - 1)) {}
  [[gnu::always_inline]] type read(const V* row, int q) const {
    const V* p = row + q * part_lanes;
    if (!Masked || q + 1 < Parts) return *reinterpret_cast<const type*>(p);
    if constexpr (Bytes == 16 && sizeof(V) == 4) return (type)_mm_maskz_loadu_ps(which, p);
    else if constexpr (Bytes == 16) return (type)_mm_maskz_loadu_pd(which, p);
    else if constexpr (Bytes == 32 && sizeof(V) == 4) return (type)_mm256_maskz_loadu_ps(which, p);
    else if constexpr (Bytes == 32) return (type)_mm256_maskz_loadu_pd(which, p);
    else return *reinterpret_cast<const type*>(p);
  }
  [[gnu::always_inline]] void write(V* row, int q, type v) const {
    V* p = row + q * part_lanes;
    if (!Masked || q + 1 < Parts) *reinterpret_cast<type*>(p) = v;
    else if constexpr (Bytes == 16 && sizeof(V) == 4) _mm_mask_storeu_ps(p, which, (__m128)v);
    else if constexpr (Bytes == 16) _mm_mask_storeu_pd(p, which, (__m128d)v);
    else if constexpr (Bytes == 32 && sizeof(V) == 4) _mm256_mask_storeu_ps(p, which, (__m256)v);
    else if constexpr (Bytes == 32) _mm256_mask_storeu_pd(p, which, (__m256d)v);
  }
  /// All chains of sums, scaled, into a row of the result.
  template <int Chains>
  [[gnu::always_inline]] void finish(const type (*sums)[Parts], V* out, V alpha, V beta) const {
#pragma GCC unroll 4
    for (int q = 0; q < Parts; ++q) {
      type sum = sums[0][q] + sums[1][q];
      if constexpr (Chains == 4) sum += sums[2][q] + sums[3][q];
      sum *= alpha;
      if (beta != V(0)) sum += beta * read(out, q);
      write(out, q, sum);
    }
  }
  u8 which;
};

/// f(place) for so many bytes of columns, fewer than two vectors.
template <class V, class F> [[gnu::always_inline]] static inline void with_narrow(i64 columns, const F& f) {
  const i64 bytes = columns * static_cast<i64>(sizeof(V));
  if (bytes == 16) f(Narrow<V, 16, 1, false>(columns));
  else if (bytes == 32) f(Narrow<V, 32, 1, false>(columns));
  else if (bytes == 64) f(Narrow<V, 64, 1, false>(columns));
  else if (bytes < 16) f(Narrow<V, 16, 1, true>(columns));
  else if (bytes < 32) f(Narrow<V, 32, 1, true>(columns));
  else if (bytes < 64) f(Narrow<V, 32, 2, true>(columns));
  else if (bytes <= 96) f(Narrow<V, 32, 3, true>(columns));
  else f(Narrow<V, 32, 4, true>(columns));
}
#endif

#if defined(__AVX2__)
// The last columns, fewer than one vector: the others are not touched. (One by one they took the time of a vector each:
// 15 columns of float32 with AVX-512 ten times that of 16.)
template <int N, class V> struct Tail {
  static_assert(N == 1);
  static constexpr int vectors = 1;
  static const V* begin(const V* row) { return row; }
  static V* begin(V* row) { return row; }
#if defined(__AVX512F__)
  Tail(const V*, i64 left) : which(static_cast<u16>((1u << left) - 1)) {}
  u16 which;
#else
  Tail(const V*, i64 left) : which(lanes_below<V>(left)) {}
  static Vec<V> whole(const Vec<V>* sums, int q) { return sums[q]; }
  __m256i which;
#endif
  [[gnu::always_inline]] Vec<V> read(const V* row, int) const { return load_some(which, row); }
  [[gnu::always_inline]] void write(V* row, int, Vec<V> v) const { store_some(which, row, v); }
};
#endif

}  // namespace strata::kernels::STRATA_ISA
