#pragma once
// Rows of an attention: scores of the keys that a query looks at, their exponentials, and the sum of values under them.
// Nothing leaves the first level of the cache between these steps.
#include "kernels/isa/vector.h"

namespace strata::kernels::STRATA_ISA {

template <class V> struct IntegersOf;
template <> struct IntegersOf<double> {
  typedef i64 type __attribute__((vector_size(vector_bytes)));
};
template <> struct IntegersOf<float> {
  typedef i32 type __attribute__((vector_size(vector_bytes)));
};
template <class V> using Integers = typename IntegersOf<V>::type;

/// What the exponential of a dtype is made of.
template <class V> struct Exponential;
template <> struct Exponential<float> {
  static constexpr int terms = 8, mantissa = 23;
  static constexpr float round = 12582912.0F;  ///< 1.5 * 2^23: adding it leaves an integer in the low bits
  static constexpr float lowest = -87.0F;      ///< below it 0: the result would not be normal
  static constexpr float ln2_high = 0.693145752F, ln2_low = 1.42860677e-6F;
};
template <> struct Exponential<double> {
  static constexpr int terms = 14, mantissa = 52;
  static constexpr double round = 6755399441055744.0;
  static constexpr double lowest = -708.0;
  static constexpr double ln2_high = 0.69314718036912382, ln2_low = 1.9082149292705877e-10;
};

/// Of numbers that are not above 0; of NaN, NaN. 2^n times a Taylor series on [-ln 2 / 2, ln 2 / 2], whose rest is
/// below what rounding loses.
template <class V> [[gnu::always_inline]] static inline Vec<V> exponential(Vec<V> x) {
  using E = Exponential<V>;
  const Vec<V> shifted = x * splat(static_cast<V>(1.4426950408889634)) + splat(E::round), n = shifted - splat(E::round);
  const Vec<V> r = (x - n * splat(E::ln2_high)) - n * splat(E::ln2_low);
  double factorial = 1;
  for (int t = 2; t < E::terms; ++t) factorial *= t;
  Vec<V> sum = splat(static_cast<V>(1 / factorial));
#pragma GCC unroll 16
  for (int t = E::terms - 1; t > 0; --t) {
    factorial /= t;
    sum = sum * r + splat(static_cast<V>(1 / factorial));
  }
  const Integers<V> bits = (Integers<V>)sum + ((Integers<V>)shifted << E::mantissa);
  const Vec<V> scaled = x < splat(E::lowest) ? Vec<V>{} : (Vec<V>)bits;
  return x == x ? scaled : x;
}

/// The first lanes from memory, 0 in the others; count < lanes.
template <class V> [[gnu::always_inline]] static inline Vec<V> load_first(const V* p, i64 count) {
#if defined(__AVX512F__)
  return load_some(static_cast<u16>((1U << count) - 1), p);
#elif defined(__AVX2__)
  return load_some(lanes_below<V>(count), p);
#else
  V all[lanes<V>] = {};
  for (i64 l = 0; l < count; ++l) all[l] = p[l];
  return load(all);
#endif
}

/// Sums of neighbouring lanes, those of `a` in front of those of `b`.
template <class V> [[gnu::always_inline]] static inline Vec<V> add_neighbours(Vec<V> a, Vec<V> b) {
  if constexpr (lanes<V> == 16)
    return __builtin_shufflevector(a, b, 0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30) +
           __builtin_shufflevector(a, b, 1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31);
  else if constexpr (lanes<V> == 8)
    return __builtin_shufflevector(a, b, 0, 2, 4, 6, 8, 10, 12, 14) +
           __builtin_shufflevector(a, b, 1, 3, 5, 7, 9, 11, 13, 15);
  else if constexpr (lanes<V> == 4)
    return __builtin_shufflevector(a, b, 0, 2, 4, 6) + __builtin_shufflevector(a, b, 1, 3, 5, 7);
  else return __builtin_shufflevector(a, b, 0, 2) + __builtin_shufflevector(a, b, 1, 3);
}

/// Lane l: the product of `q` with the row of features that rows[l] points to. q has a whole number of vectors, zeros
/// at its end.
template <class V>
[[gnu::always_inline]] static inline Vec<V> dot_products(const V* q, const V* const* rows, i64 features) {
  constexpr int L = lanes<V>;
  Vec<V> s[L] = {};
  i64 f = 0;
  for (; f + 4 * L <= features; f += 4 * L) {
    const Vec<V> a = load(q + f), b = load(q + f + L), c = load(q + f + 2 * L), d = load(q + f + 3 * L);
#pragma GCC unroll 16
    for (int l = 0; l < L; ++l) {
      const V* row = rows[l] + f;
      s[l] += a * load(row);
      s[l] += b * load(row + L);
      s[l] += c * load(row + 2 * L);
      s[l] += d * load(row + 3 * L);
    }
  }
  for (; f + L <= features; f += L) {
    const Vec<V> a = load(q + f);
#pragma GCC unroll 16
    for (int l = 0; l < L; ++l) s[l] += a * load(rows[l] + f);
  }
  if (f < features) {
    const Vec<V> a = load(q + f);
#pragma GCC unroll 16
    for (int l = 0; l < L; ++l) s[l] += a * load_first(rows[l] + f, features - f);
  }
#pragma GCC unroll 4
  for (int n = L / 2; n > 0; n /= 2)
#pragma GCC unroll 8
    for (int l = 0; l < n; ++l) s[l] = add_neighbours<V>(s[2 * l], s[2 * l + 1]);
  return s[0];
}

/// N vectors of columns from `column` on of the rows of values that `keys` names, under these weights, times `one`.
template <int N, class V>
static inline void weighted_sum(i64 count, const i32* keys, const V* weights, const V* values, i64 columns, i64 column,
                                V one, V* out) {
  constexpr int L = lanes<V>;
  Vec<V> sums[2][N] = {};
  const auto add = [&](i64 e, int half) __attribute__((always_inline)) {
    const Vec<V> w = splat(weights[e]);
    const V* row = values + keys[e] * columns + column;
    for (int n = 0; n < N; ++n) sums[half][n] += w * load(row + n * L);
  };
  i64 e = 0;
  for (; e + 2 <= count; e += 2) {
    add(e, 0);
    add(e + 1, 1);
  }
  if (e < count) add(e, 0);
  for (int n = 0; n < N; ++n) store(out + column + n * L, (sums[0][n] + sums[1][n]) * splat(one));
}

template <class V>
static inline void weighted_values(i64 count, const i32* keys, const V* weights, const V* values, i64 columns, V one,
                                   V* out) {
  constexpr int L = lanes<V>;
  i64 c = 0;
  for (; c + 4 * L <= columns; c += 4 * L) weighted_sum<4>(count, keys, weights, values, columns, c, one, out);
  for (; c + L <= columns; c += L) weighted_sum<1>(count, keys, weights, values, columns, c, one, out);
  if (c == columns) return;
  Vec<V> sum{};
  for (i64 e = 0; e < count; ++e) sum += splat(weights[e]) * load_first(values + keys[e] * columns + c, columns - c);
  V last[lanes<V>];
  store(last, sum * splat(one));
  for (i64 l = 0; c + l < columns; ++l) out[c + l] = last[l];
}

template <class V> void attend(i64 begin, i64 end, const i64* pos, const i32* crd, const Attention<V>& a) {
  constexpr int L = lanes<V>;
  constexpr V infinity = static_cast<V>(__builtin_inf());
  V *q = a.scratch, *weights = q + (a.features + L - 1) / L * L;
  for (i64 l = a.features; q + l < weights; ++l) q[l] = 0;
  for (i64 i = begin; i < end; ++i) {
    const i64 count = pos[i + 1] - pos[i];
    const i32* keys = crd + pos[i];
    for (i64 f = 0; f < a.features; ++f) q[f] = a.q[i * a.features + f] * a.scale;
    Vec<V> largest = splat(-infinity);
    for (i64 e = 0; e < count; e += L) {
      const i64 left = count - e < L ? count - e : L;
      const V* rows[L];
      for (i64 l = 0; l < L; ++l) rows[l] = a.k + keys[e + (l < left ? l : 0)] * a.features;
      Vec<V> s = dot_products<V>(q, rows, a.features);
      if (a.bias) s += left == L ? load(a.bias + pos[i] + e) : load_first(a.bias + pos[i] + e, left);
      store(weights + e, s);
      if (a.hidden)
        for (i64 l = 0; l < left; ++l) weights[e + l] += a.hidden[keys[e + l]];
      for (i64 l = left; l < L; ++l) weights[e + l] = -infinity;
      s = load(weights + e);
      largest = s > largest ? s : largest;
    }
    V top = -infinity;
    for (int l = 0; l < L; ++l) top = largest[l] > top ? largest[l] : top;
    if (top == -infinity) top = 0;
    Vec<V> sums{};
    for (i64 e = 0; e < count; e += L) {
      const Vec<V> w = exponential<V>(load(weights + e) - splat(top));
      store(weights + e, w);
      sums += w;
    }
    const V total = sum_lanes<V>(sums), one = total == 0 ? 0 : 1 / total;
    a.top[i] = top;
    a.one[i] = one;
    weighted_values<V>(count, keys, weights, a.v, a.columns, one, a.out + i * a.columns);
  }
}

}  // namespace strata::kernels::STRATA_ISA
