#pragma once
#include "kernels/isa/csr_gather.h"
#include "kernels/isa/csr_tiles.h"

namespace strata::kernels::STRATA_ISA {

#if defined(__SSE4_1__)
// x at four columns, in 16-byte vectors. Indices come two or four to a 64-bit load: three loads per element would bind
// where x lives in a near cache. (A vgather costs more than these inserts on two generations of AMD; csr_gather.h is for where it does not.)
static inline void columns_of(const i32* crd, i64& c0, i64& c1, i64& c2, i64& c3) {
  u64 a, b;
  __builtin_memcpy(&a, crd, 8);
  __builtin_memcpy(&b, crd + 2, 8);
  c0 = static_cast<i64>(a & 0xffffffffu), c1 = static_cast<i64>(a >> 32), c2 = static_cast<i64>(b & 0xffffffffu), c3 = static_cast<i64>(b >> 32);
}
static inline void columns_of(const u16* crd, i64& c0, i64& c1, i64& c2, i64& c3) {
  u64 a;
  __builtin_memcpy(&a, crd, 8);
  c0 = a & 0xffff, c1 = a >> 16 & 0xffff, c2 = a >> 32 & 0xffff, c3 = static_cast<i64>(a >> 48);
}
static inline void columns_of(const u8* crd, i64& c0, i64& c1, i64& c2, i64& c3) { c0 = crd[0], c1 = crd[1], c2 = crd[2], c3 = crd[3]; }
static inline void columns_of(const i64* crd, i64& c0, i64& c1, i64& c2, i64& c3) { c0 = crd[0], c1 = crd[1], c2 = crd[2], c3 = crd[3]; }

// Four sums side by side: element q of a row goes to sum q % 4.
template <class V> struct Four;

/// Ones in the first n of four lanes stand at masks + 4 - n.
alignas(64) inline constexpr i32 masks32[8] = {-1, -1, -1, -1, 0, 0, 0, 0};
alignas(64) inline constexpr i64 masks64[8] = {-1, -1, -1, -1, 0, 0, 0, 0};

template <> struct Four<float> {
  __m128 s = _mm_setzero_ps();
  template <class C> static __m128 product(const C* crd, const float* v, const float* x) {
    i64 c0, c1, c2, c3;
    columns_of(crd, c0, c1, c2, c3);
    __m128 g = _mm_insert_ps(_mm_load_ss(x + c0), _mm_load_ss(x + c1), 0x10);
    g = _mm_insert_ps(_mm_insert_ps(g, _mm_load_ss(x + c2), 0x20), _mm_load_ss(x + c3), 0x30);
    return _mm_loadu_ps(v) * g;
  }
  template <class C> void add(const C* crd, const float* v, const float* x) { s += product(crd, v, x); }
  template <class C> void add_first(i64 n, const C* crd, const float* v, const float* x) {
    s += _mm_and_ps(product(crd, v, x), _mm_loadu_ps(reinterpret_cast<const float*>(masks32 + 4 - n)));
  }
  float sum() const { return (s[0] + s[2]) + (s[1] + s[3]); }
};
template <> struct Four<double> {
  __m128d s = _mm_setzero_pd(), t = _mm_setzero_pd();
  template <class C> static void products(const C* crd, const double* v, const double* x, __m128d& p, __m128d& q) {
    i64 c0, c1, c2, c3;
    columns_of(crd, c0, c1, c2, c3);
    p = _mm_loadu_pd(v) * _mm_loadh_pd(_mm_load_sd(x + c0), x + c1);
    q = _mm_loadu_pd(v + 2) * _mm_loadh_pd(_mm_load_sd(x + c2), x + c3);
  }
  template <class C> void add(const C* crd, const double* v, const double* x) {
    __m128d p, q;
    products(crd, v, x, p, q);
    s += p, t += q;
  }
  template <class C> void add_first(i64 n, const C* crd, const double* v, const double* x) {
    __m128d p, q;
    products(crd, v, x, p, q);
    const double* m = reinterpret_cast<const double*>(masks64 + 4 - n);
    s += _mm_and_pd(p, _mm_loadu_pd(m)), t += _mm_and_pd(q, _mm_loadu_pd(m + 2));
  }
  double sum() const { return (s[0] + t[0]) + (s[1] + t[1]); }
};
#else
template <class V> struct Four {
  V s[4] = {0, 0, 0, 0};
  template <class C> void add(const C* crd, const V* v, const V* x) {
    for (int q = 0; q < 4; ++q) s[q] += v[q] * x[crd[q]];
  }
  template <class C> void add_first(i64 n, const C* crd, const V* v, const V* x) {
    for (i64 q = 0; q < n; ++q) s[q] += v[q] * x[crd[q]];
  }
  V sum() const { return (s[0] + s[2]) + (s[1] + s[3]); }
};
#endif

/// Where the operands of a product with a vector lie.
enum class Reads {
  cached,
  streamed,   ///< the matrix in memory
  scattered,  ///< the matrix in memory, and the elements of x that it chooses too
};

// Always inline: GCC holds a function that does nothing but prefetch for one without effect, and drops its calls.
template <class V, class C> [[gnu::always_inline]] static inline void prefetch_four(const C* crd, const V* x) {
  for (int q = 0; q < 4; ++q) prefetch(x + crd[q]);
}

// A row's length is what a core cannot guess: one loop over fours, and behind it one masked four that is always done.
// (Measured beside sixteens, fours and single elements in loops of their own: 1.1-1.6x on short rows, level on long ones.)
template <Reads R, class V, class P, class C>
static void csr_spmv(i64 begin, i64 end, const P* pos, const C* crd, const V* values, const Dense<V>& d) {
  const V* x = d.x;
  i64 k = begin < end ? static_cast<i64>(pos[begin]) : 0;
  const i64 last = begin < end ? static_cast<i64>(pos[end]) : 0;
  const auto four_ahead = [&](i64 at) __attribute__((always_inline)) {
    if constexpr (R == Reads::scattered)
      if (at + scatter_distance + 4 <= last) prefetch_four(crd + at + scatter_distance, x);
  };
  for (i64 i = begin; i < end; ++i) {
    const i64 stop = pos[i + 1];
    Four<V> sums;
    if constexpr (R != Reads::cached) {
      for (; k + 16 <= stop; k += 16) {
        prefetch_stream(values + k);
        if (sizeof(V) == 8) prefetch_stream(values + k + 8);
        prefetch_stream(crd + k);
        for (int q = 0; q < 16; q += 4) {
          four_ahead(k + q);
          sums.add(crd + k + q, values + k + q, x);
        }
      }
      prefetch_stream(values + k);
      prefetch_stream(crd + k);
    }
    for (; k + 4 <= stop; k += 4) {
      four_ahead(k);
      sums.add(crd + k, values + k, x);
    }
    four_ahead(k);
    if (k + 4 <= last) {
      sums.add_first(stop - k, crd + k, values + k, x);
    } else if (k < stop) {  // nothing is read behind the last row
      C columns[4] = {crd[k], crd[k], crd[k], crd[k]};
      V rest[4] = {};
      for (i64 q = k; q < stop; ++q) columns[q - k] = crd[q], rest[q - k] = values[q];
      sums.add_first(stop - k, columns, rest, x);
    }
    k = stop;
    finish(d.out + i, sums.sum(), d.alpha, d.beta);
  }
}

template <class V, class P, class C>
static void csr_vector(i64 begin, i64 end, const P* pos, const C* crd, const V* values, const Dense<V>& d) {
  if (d.scattered) csr_spmv<Reads::scattered>(begin, end, pos, crd, values, d);
#if defined(__AVX512F__)
  else if (d.gathers && d.stream) csr_gathered<true>(begin, end, pos, crd, values, d);
  else if (d.gathers) csr_gathered<false>(begin, end, pos, crd, values, d);
#endif
  else if (d.stream) csr_spmv<Reads::streamed>(begin, end, pos, crd, values, d);
  else csr_spmv<Reads::cached>(begin, end, pos, crd, values, d);
}

template <class V, class P, class C>
void csr(i64 begin, i64 end, const P* pos, const C* crd, const V* values, const Dense<V>& d) {
  if (is_vector(d)) csr_vector(begin, end, pos, crd, values, d);
  else if (d.tile > 0) csr_tiled(begin, end, pos, crd, values, d);
  else csr_rows(begin, end, pos, crd, values, d);
}

}  // namespace strata::kernels::STRATA_ISA
