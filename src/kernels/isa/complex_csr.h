#pragma once
// CSR of complex numbers times columns of them. Numbers are pairs of reals, in A, in x and in the result; columns, ldx
// and ldo count reals.
//
// Sums are kept of Re(a) x and of Im(a) x: an element of A takes two multiply-adds for each vector of x and nothing
// else. What turns the second sum by a quarter waits until the row is done.
#include "kernels/isa/csr_spmm.h"

namespace strata::kernels::STRATA_ISA {

/// One complex number.
template <class V> struct PairOf;
template <> struct PairOf<double> {
  typedef double type __attribute__((vector_size(16), aligned(8), may_alias));
};
template <> struct PairOf<float> {
  typedef float type __attribute__((vector_size(8), aligned(4), may_alias));
};
template <class V> using Pair = typename PairOf<V>::type;

/// i v, for complex numbers in pairs of lanes.
template <class W> [[gnu::always_inline]] static inline W quarter_turn(W v) {
  constexpr int n = static_cast<int>(sizeof(W) / sizeof(v[0]));
  W signs = {};
  for (int q = 0; q < n; ++q) signs[q] = q % 2 == 0 ? -1 : 1;
  if constexpr (n == 2) return signs * __builtin_shufflevector(v, v, 1, 0);
  else if constexpr (n == 4) return signs * __builtin_shufflevector(v, v, 1, 0, 3, 2);
  else if constexpr (n == 8) return signs * __builtin_shufflevector(v, v, 1, 0, 3, 2, 5, 4, 7, 6);
  else return signs * __builtin_shufflevector(v, v, 1, 0, 3, 2, 5, 4, 7, 6, 9, 8, 11, 10, 13, 12, 15, 14);
}

/// alpha and beta, as most are: real, and none.
template <class V> struct Scaling {
  explicit Scaling(const Dense<V>& d)
      : alpha(d.alpha),
        alpha_im(d.alpha_im),
        beta(d.beta),
        beta_im(d.beta_im),
        turns(alpha_im != V(0)),
        adds(beta != V(0) || beta_im != V(0)) {}
  template <class W> [[gnu::always_inline]] W result(W v) const {
    return turns ? v * alpha + quarter_turn(v) * alpha_im : v * alpha;
  }
  template <class W> [[gnu::always_inline]] W before(W v) const {
    return beta_im == V(0) ? v * beta : v * beta + quarter_turn(v) * beta_im;
  }
  const V alpha, alpha_im, beta, beta_im;
  const bool turns, adds;
};

// N vectors of one output row (see row_panel in csr_spmm.h).
template <RowLocality R, int N, template <int, class> class Place, class V, class C>
static inline void complex_panel(i64 k, i64 stop, i64 last, const C* crd, const V* values, const V* x, V* out,
                                 const Dense<V>& d) {
  constexpr int chains = (R == RowLocality::near || R == RowLocality::nearest) && N < 4 ? 4 / N : 1,
                M = Place<N, V>::vectors;
  constexpr i64 distance = R == RowLocality::scattered ? far_ahead : 24;
  const Place<N, V> place(x, d.columns - (x - d.x));
  x = place.begin(x);
  Vec<V> re[chains][M], im[chains][M];
  for (int u = 0; u < chains; ++u)
    for (int q = 0; q < M; ++q) re[u][q] = im[u][q] = Vec<V>{};
  const auto add = [&](int u, i64 at) __attribute__((always_inline)) {
    const V* row = x + static_cast<i64>(crd[at]) * d.ldx;
    const Vec<V> real = splat(values[2 * at]), imaginary = splat(values[2 * at + 1]);
#pragma GCC unroll 9
    for (int q = 0; q < M; ++q) {
      const Vec<V> v = held<V>(place.read(row, q));
      re[u][q] += real * v;
      im[u][q] += imaginary * v;
    }
  };
  if constexpr (chains > 1)
    for (; k + chains <= stop; k += chains)
      for (int u = 0; u < chains; ++u) add(u, k + u);
  for (; k < stop; ++k) {
    if constexpr (R == RowLocality::far || R == RowLocality::scattered) {
      const V* ahead = x + static_cast<i64>(crd[k + distance < last ? k + distance : k]) * d.ldx;
      prefetch_row<M, R == RowLocality::scattered>(ahead, is_astray(x));
    }
    add(0, k);
  }
  for (int u = 1; u < chains; ++u)
    for (int q = 0; q < M; ++q) re[0][q] += re[u][q], im[0][q] += im[u][q];
  out = place.begin(out);
  const Scaling<V> scale(d);
#pragma GCC unroll 9
  for (int q = 0; q < M; ++q) {
    Vec<V> r = scale.result(re[0][q] + quarter_turn<Vec<V>>(im[0][q]));
    if (scale.adds) r += scale.before(place.read(out, q));
    place.write(out, q, r);
  }
}

// One column, which is less than a vector: two chains.
template <class V, class C>
static inline void complex_column(i64 k, i64 stop, const C* crd, const V* values, const V* x, V* out,
                                  const Dense<V>& d) {
  Pair<V> re[2] = {}, im[2] = {};
  const auto add = [&](int u, i64 at) __attribute__((always_inline)) {
    const Pair<V> v = *reinterpret_cast<const Pair<V>*>(x + static_cast<i64>(crd[at]) * d.ldx);
    re[u] += values[2 * at] * v;
    im[u] += values[2 * at + 1] * v;
  };
  for (; k + 2 <= stop; k += 2) add(0, k), add(1, k + 1);
  if (k < stop) add(0, k);
  Pair<V>& to = *reinterpret_cast<Pair<V>*>(out);
  const Scaling<V> scale(d);
  Pair<V> r = scale.result((re[0] + re[1]) + quarter_turn<Pair<V>>(im[0] + im[1]));
  if (scale.adds) r += scale.before(to);
  to = r;
}

template <RowLocality R, template <int, class> class Place, class V, class P, class C>
static void complex_rows(i64 begin, i64 end, const P* pos, const C* crd, const V* values, const Dense<V>& d) {
  StreamingStores<V> stream(d.out + begin * d.ldo);
  const i64 last = begin < end ? static_cast<i64>(pos[end]) : 0;
  for (i64 i = begin; i < end; ++i) {
    const i64 start = pos[i], stop = pos[i + 1];
    prefetch_stream(values + 2 * start);
    prefetch_stream(crd + start);
    if (d.along) prefetch_elements_second(d.x + (i + d.lead) * d.ldx, d.columns);
    V* out = d.streaming ? stream.next() : d.out + i * d.ldo;
    i64 c = 0;
#define STRATA_PANELS(N, PLACE)                                \
  for (; c + (N) * lanes<V> <= d.columns; c += (N) * lanes<V>) \
  complex_panel<R, N, PLACE>(start, stop, last, crd, values, d.x + c, out + c, d)
    if constexpr (max_accumulators >= 16) STRATA_PANELS(8, Place);
    STRATA_PANELS(4, Place);
    STRATA_PANELS(2, ByVectors);
    STRATA_PANELS(1, ByVectors);
#undef STRATA_PANELS
    for (; c < d.columns; c += 2) complex_column(start, stop, crd, values, d.x + c, out + c, d);
    if (d.streaming) stream.push(d.columns);
  }
  if (d.streaming) stream.finish();
}

template <template <int, class> class Place, class V, class P, class C>
static void complex_places(i64 begin, i64 end, const P* pos, const C* crd, const V* values, const Dense<V>& d) {
  if (d.near) complex_rows<RowLocality::near, Place>(begin, end, pos, crd, values, d);
  else if (d.scattered) complex_rows<RowLocality::scattered, Place>(begin, end, pos, crd, values, d);
  else complex_rows<RowLocality::far, Place>(begin, end, pos, crd, values, d);
}

template <class V, class P, class C>
void complex_csr(i64 begin, i64 end, const P* pos, const C* crd, const V* values, const Dense<V>& d) {
#if defined(__AVX2__)
  if (by_lines(d.x, 2 * sizeof(V), d.ldx / 2, d.columns / 2))
    return complex_places<ByLines>(begin, end, pos, crd, values, d);
#endif
  complex_places<ByVectors>(begin, end, pos, crd, values, d);
}

}  // namespace strata::kernels::STRATA_ISA
