#pragma once
// CSR times a vector by loads of single elements.
#include "kernels/isa/vector.h"

namespace strata::kernels::STRATA_ISA {

/// Lanes to keep: the first n of up to most_fours fours stand at first_lanes(n). Integers as wide as the values.
template <class V> struct LaneOf;
template <> struct LaneOf<float> {
  using type = i32;
};
template <> struct LaneOf<double> {
  using type = i64;
};
template <class V> using Lane = typename LaneOf<V>::type;
template <class L> struct Lanes {
  L keep[8 * most_fours];
  constexpr Lanes() : keep{} {
    for (i64 q = 0; q < 8 * most_fours; ++q) keep[q] = q < 4 * most_fours ? -1 : 0;
  }
};
template <class L> alignas(64) inline constexpr Lanes<L> lanes_kept;
template <class V> static inline const Lane<V>* first_lanes(i64 n) {
  return lanes_kept<Lane<V>>.keep + 4 * most_fours - n;
}

#if defined(__SSE4_1__)
// x at four columns, in 16-byte vectors. Indices come two or four to a 64-bit load: three loads per element would bind
// where x lives in a near cache. (A vgather costs more than these inserts on two generations of AMD; csr_gather.h is
// for where it does not.)
static inline void columns_of(const i32* crd, i64& c0, i64& c1, i64& c2, i64& c3) {
  u64 a, b;
  __builtin_memcpy(&a, crd, 8);
  __builtin_memcpy(&b, crd + 2, 8);
  c0 = static_cast<i64>(a & 0xffffffffu), c1 = static_cast<i64>(a >> 32), c2 = static_cast<i64>(b & 0xffffffffu),
  c3 = static_cast<i64>(b >> 32);
}
static inline void columns_of(const u16* crd, i64& c0, i64& c1, i64& c2, i64& c3) {
  u64 a;
  __builtin_memcpy(&a, crd, 8);
  c0 = a & 0xffff, c1 = a >> 16 & 0xffff, c2 = a >> 32 & 0xffff, c3 = static_cast<i64>(a >> 48);
}
static inline void columns_of(const u8* crd, i64& c0, i64& c1, i64& c2, i64& c3) {
  c0 = crd[0], c1 = crd[1], c2 = crd[2], c3 = crd[3];
}
static inline void columns_of(const i64* crd, i64& c0, i64& c1, i64& c2, i64& c3) {
  c0 = crd[0], c1 = crd[1], c2 = crd[2], c3 = crd[3];
}

// Where there are fused multiply-adds they are asked for by name: a compiler may fuse one of two loops and not the
// other, and a row's sum would depend on the loop.
#if defined(__FMA__)
static inline __m128 plus_product(__m128 s, __m128 a, __m128 b) { return _mm_fmadd_ps(a, b, s); }
static inline __m128d plus_product(__m128d s, __m128d a, __m128d b) { return _mm_fmadd_pd(a, b, s); }
#else
static inline __m128 plus_product(__m128 s, __m128 a, __m128 b) { return s + a * b; }
static inline __m128d plus_product(__m128d s, __m128d a, __m128d b) { return s + a * b; }
#endif

// Four sums side by side: element q of a row goes to sum q % 4. Both factors of what is not kept are 0: an infinity
// there adds nothing.
template <class V> struct Four;

template <> struct Four<float> {
  __m128 s = _mm_setzero_ps();
  template <class C> [[gnu::always_inline]] static __m128 chosen(const C* crd, const float* x) {
    i64 c0, c1, c2, c3;
    columns_of(crd, c0, c1, c2, c3);
    __m128 g = _mm_insert_ps(_mm_load_ss(x + c0), _mm_load_ss(x + c1), 0x10);
    return _mm_insert_ps(_mm_insert_ps(g, _mm_load_ss(x + c2), 0x20), _mm_load_ss(x + c3), 0x30);
  }
  template <class C> [[gnu::always_inline]] void add(const C* crd, const float* v, const float* x) {
    s = plus_product(s, _mm_loadu_ps(v), chosen(crd, x));
  }
  template <class C> [[gnu::always_inline]] void add_kept(const i32* keep, const C* crd, const float* v,
                                                          const float* x) {
#if defined(__AVX512VL__) && defined(__AVX512DQ__)
    s = _mm_mask3_fmadd_ps(_mm_loadu_ps(v), chosen(crd, x), s,
                           _mm_movepi32_mask(_mm_loadu_si128(reinterpret_cast<const __m128i*>(keep))));
#else
    const __m128 m = _mm_loadu_ps(reinterpret_cast<const float*>(keep));
    s = plus_product(s, _mm_and_ps(_mm_loadu_ps(v), m), _mm_and_ps(chosen(crd, x), m));
#endif
  }
  float sum() const { return (s[0] + s[2]) + (s[1] + s[3]); }
  [[gnu::always_inline]] static void store_sums(float* out, Four a, Four b, Four c, Four d) {
    _MM_TRANSPOSE4_PS(a.s, b.s, c.s, d.s);
    _mm_storeu_ps(out, (a.s + c.s) + (b.s + d.s));
  }
};
template <> struct Four<double> {
#if defined(__AVX512VL__) && defined(__AVX512DQ__)
  __m256d s = _mm256_setzero_pd();
  template <class C> [[gnu::always_inline]] static __m256d chosen(const C* crd, const double* x) {
    i64 c0, c1, c2, c3;
    columns_of(crd, c0, c1, c2, c3);
    return _mm256_set_m128d(_mm_loadh_pd(_mm_load_sd(x + c2), x + c3), _mm_loadh_pd(_mm_load_sd(x + c0), x + c1));
  }
  template <class C> [[gnu::always_inline]] void add(const C* crd, const double* v, const double* x) {
    s = _mm256_fmadd_pd(_mm256_loadu_pd(v), chosen(crd, x), s);
  }
  template <class C> [[gnu::always_inline]] void add_kept(const i64* keep, const C* crd, const double* v,
                                                          const double* x) {
    s = _mm256_mask3_fmadd_pd(_mm256_loadu_pd(v), chosen(crd, x), s,
                              _mm256_movepi64_mask(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(keep))));
  }
  double sum() const { return (s[0] + s[2]) + (s[1] + s[3]); }
  __m128d halves() const { return _mm256_castpd256_pd128(s) + _mm256_extractf128_pd(s, 1); }
#else
  __m128d s = _mm_setzero_pd(), t = _mm_setzero_pd();
  template <class C> [[gnu::always_inline]] static void chosen(const C* crd, const double* x, __m128d& g, __m128d& h) {
    i64 c0, c1, c2, c3;
    columns_of(crd, c0, c1, c2, c3);
    g = _mm_loadh_pd(_mm_load_sd(x + c0), x + c1);
    h = _mm_loadh_pd(_mm_load_sd(x + c2), x + c3);
  }
  template <class C> [[gnu::always_inline]] void add(const C* crd, const double* v, const double* x) {
    __m128d g, h;
    chosen(crd, x, g, h);
    s = plus_product(s, _mm_loadu_pd(v), g), t = plus_product(t, _mm_loadu_pd(v + 2), h);
  }
  template <class C> [[gnu::always_inline]] void add_kept(const i64* keep, const C* crd, const double* v,
                                                          const double* x) {
    __m128d g, h;
    chosen(crd, x, g, h);
    const __m128d m = _mm_loadu_pd(reinterpret_cast<const double*>(keep)),
                  n = _mm_loadu_pd(reinterpret_cast<const double*>(keep + 2));
    s = plus_product(s, _mm_and_pd(_mm_loadu_pd(v), m), _mm_and_pd(g, m)),
    t = plus_product(t, _mm_and_pd(_mm_loadu_pd(v + 2), n), _mm_and_pd(h, n));
  }
  double sum() const { return (s[0] + t[0]) + (s[1] + t[1]); }
  __m128d halves() const { return s + t; }
#endif
  [[gnu::always_inline]] static void store_sums(double* out, const Four& a, const Four& b, const Four& c,
                                                const Four& d) {
    const __m128d p = a.halves(), q = b.halves(), u = c.halves(), v = d.halves();
    _mm_storeu_pd(out, _mm_unpacklo_pd(p, q) + _mm_unpackhi_pd(p, q));
    _mm_storeu_pd(out + 2, _mm_unpacklo_pd(u, v) + _mm_unpackhi_pd(u, v));
  }
};
#else
template <class V> struct Four {
  V s[4] = {0, 0, 0, 0};
  template <class C> [[gnu::always_inline]] void add(const C* crd, const V* v, const V* x) {
    for (int q = 0; q < 4; ++q) s[q] += v[q] * x[crd[q]];
  }
  template <class C> [[gnu::always_inline]] void add_kept(const Lane<V>* keep, const C* crd, const V* v, const V* x) {
    for (int q = 0; q < 4; ++q) s[q] += keep[q] ? v[q] * x[crd[q]] : V(0);
  }
  V sum() const { return (s[0] + s[2]) + (s[1] + s[3]); }
  [[gnu::always_inline]] static void store_sums(V* out, const Four& a, const Four& b, const Four& c, const Four& d) {
    out[0] = a.sum(), out[1] = b.sum(), out[2] = c.sum(), out[3] = d.sum();
  }
};
#endif

/// Where the operands of a product with a vector lie.
enum class Reads {
  cached,
  streamed,          ///< the matrix in memory, or in a third level (see Asking)
  scattered,         ///< and what it chooses of x is far, in no order: asked for into the first level
  scattered_second,  ///< or into the second
};

/// Are the streams asked for sixteen elements at a time, in a loop of their own, and not by fours? A line that is asked
/// for more than once costs less than the guess at that loop's end where x is asked for into the second level, and
/// where two doubles are multiplied at a time (Zen 3, x in the second level and beyond: by fours 0.7 to 0.85 of the
/// time, nearer 1.0 to 1.05).
#if defined(__AVX512VL__) && defined(__AVX512DQ__)
template <Reads R, class V> inline constexpr bool by_sixteens = R == Reads::streamed || R == Reads::scattered;
#else
template <Reads R, class V> inline constexpr bool by_sixteens =
    (R == Reads::streamed && sizeof(V) == 4) || R == Reads::scattered;
#endif

/// Asks for the streams at four elements, and for what such four choose, some elements before they are reached, where
/// there are so many left.
template <Reads R, class V, class C> [[gnu::always_inline]] static inline void four_ahead(const V* values, const C* crd,
                                                                                          i64 k, i64 last, const V* x) {
  if constexpr (R != Reads::cached && !by_sixteens<R, V>) {
    prefetch_stream(values + k);
    prefetch_stream(crd + k);
  }
  if constexpr (R == Reads::scattered) {
    if (k + scatter_distance + 4 > last) return;
    for (int q = 0; q < 4; ++q) prefetch(x + crd[k + scatter_distance + q]);
  } else if constexpr (R == Reads::scattered_second) {
    if (k + 2 * scatter_distance + 4 > last) return;
    for (int q = 0; q < 4; ++q) prefetch_second(x + crd[k + 2 * scatter_distance + q]);
  }
}

// A row's length is what a core cannot guess: one loop over fours, and behind it one masked four that is always done.
// (Measured beside sixteens, fours and single elements in loops of their own: 1.1-1.6x on short rows, level on long
// ones.)
template <Reads R, class V, class P, class C>
static void csr_spmv(i64 begin, i64 end, const P* pos, const C* crd, const V* values, const Dense<V>& d) {
  const V* x = d.x;
  i64 k = begin < end ? static_cast<i64>(pos[begin]) : 0;
  const i64 last = begin < end ? static_cast<i64>(pos[end]) : 0;
  for (i64 i = begin; i < end; ++i) {
    const i64 stop = pos[i + 1];
    Four<V> sums;
    if constexpr (by_sixteens<R, V>) {
      for (; k + 16 <= stop; k += 16) {
        prefetch_stream(values + k);
        if (sizeof(V) == 8) prefetch_stream(values + k + 8);
        prefetch_stream(crd + k);
        for (int q = 0; q < 16; q += 4) {
          four_ahead<R>(values, crd, k + q, last, x);
          sums.add(crd + k + q, values + k + q, x);
        }
      }
      prefetch_stream(values + k);
      prefetch_stream(crd + k);
    }
    for (; k + 4 <= stop; k += 4) {
      four_ahead<R>(values, crd, k, last, x);
      sums.add(crd + k, values + k, x);
    }
    four_ahead<R>(values, crd, k, last, x);
    if (k + 4 <= last) {
      sums.add_kept(first_lanes<V>(stop - k), crd + k, values + k, x);
    } else if (k < stop) {  // nothing is read behind the last row
      C columns[4] = {crd[k], crd[k], crd[k], crd[k]};
      V rest[4] = {};
      for (i64 q = k; q < stop; ++q) columns[q - k] = crd[q], rest[q - k] = values[q];
      sums.add_kept(first_lanes<V>(stop - k), columns, rest, x);
    }
    k = stop;
    finish(d.out + i, sums.sum(), d.alpha, d.beta);
  }
}

#if defined(__FMA__)
static inline float plus_product(float s, float a, float b) { return __builtin_fmaf(a, b, s); }
static inline double plus_product(double s, double a, double b) { return __builtin_fma(a, b, s); }
#else
template <class V> static inline V plus_product(V s, V a, V b) { return s + a * b; }
#endif

/// The same sums in the same order, element by element, where rows have as many elements as the row before: the end of
/// one is no surprise, and nothing is put together into vectors.
template <class V, class P, class C>
static void csr_spmv_singles(i64 begin, i64 end, const P* pos, const C* crd, const V* values, const Dense<V>& d) {
  const V* x = d.x;
  for (i64 i = begin, k = pos[begin]; i < end; ++i) {
    const i64 stop = pos[i + 1];
    V a = 0, b = 0, c = 0, e = 0;
    for (; k + 4 <= stop; k += 4) {
      a = plus_product(a, values[k], x[crd[k]]);
      b = plus_product(b, values[k + 1], x[crd[k + 1]]);
      c = plus_product(c, values[k + 2], x[crd[k + 2]]);
      e = plus_product(e, values[k + 3], x[crd[k + 3]]);
    }
    if (k < stop) a = plus_product(a, values[k], x[crd[k]]), ++k;
    if (k < stop) b = plus_product(b, values[k], x[crd[k]]), ++k;
    if (k < stop) c = plus_product(c, values[k], x[crd[k]]), ++k;
    finish(d.out + i, (a + c) + (b + e), d.alpha, d.beta);
  }
}

/// The same sums in the same order, where most rows have few elements and not all as many: the first d.fours fours of
/// every row are multiplied, those behind its end for nothing, so that a core guesses right for all rows but the
/// longest.
template <bool Streamed, class V, class P, class C>
static void csr_spmv_even(i64 begin, i64 end, const P* pos, const C* crd, const V* values, const Dense<V>& d) {
  const V* x = d.x;
  const i64 fours = d.fours, last = pos[end];
  i64 safe = end;  // rows before this one have so many elements behind their last
  while (safe > begin && static_cast<i64>(pos[safe]) + 4 * fours > last) --safe;
  i64 k = pos[begin], i = begin;
  const auto row = [&](i64 stop) __attribute__((always_inline)) {
    if constexpr (Streamed)
      for (i64 q = 0; q < 4 * fours; q += 16) {
        prefetch_stream(values + k + q);
        if (sizeof(V) == 8) prefetch_stream(values + k + q + 8);
        prefetch_stream(crd + k + q);
      }
    const Lane<V>* keep = first_lanes<V>(stop - k < 4 * fours ? stop - k : 4 * fours);
    Four<V> sums;
    for (i64 q = 0; q < 4 * fours; q += 4) sums.add_kept(keep + q, crd + k + q, values + k + q, x);
    for (k += 4 * fours; k < stop; k += 4) {
      if (k + 4 <= stop) sums.add(crd + k, values + k, x);
      else sums.add_kept(first_lanes<V>(stop - k), crd + k, values + k, x);
    }
    k = stop;
    return sums;
  };
  if (d.alpha == V(1) && d.beta == V(0))
    for (; i + 4 <= safe; i += 4) {
      const Four<V> a = row(pos[i + 1]), b = row(pos[i + 2]), c = row(pos[i + 3]), e = row(pos[i + 4]);
      Four<V>::store_sums(d.out + i, a, b, c, e);
    }
  for (; i < safe; ++i) finish(d.out + i, row(pos[i + 1]).sum(), d.alpha, d.beta);
  if (safe < end) csr_spmv<Reads::cached>(safe, end, pos, crd, values, d);
}

}  // namespace strata::kernels::STRATA_ISA
