#pragma once
// Vectors of iterations: loops that do all there is to do in one pass over memory, on all threads. Sums are made of
// pieces that depend on the length alone, so that they are the same with any number of threads.
#include <algorithm>
#include <array>
#include <cstdint>

#include "backend/pool.h"
#include "base/sum_in_pairs.h"
#include "solve/scalar.h"
#include "strata/tensor.h"

namespace strata::solving {

/// A vector, and the tensor that operators take.
template <class T> struct Vector {
  std::int64_t n = 0;
  T* data = nullptr;
  Tensor tensor;

  Vector() = default;
  explicit Vector(std::int64_t size) : n(size) {
    const Buffer memory = Buffer::zeros(dtype_of<T>(), size);
    data = static_cast<T*>(memory.data);
    const std::int64_t stride = 1;
    tensor = borrow_dense(memory, {size}, {&stride, 1});
  }
  // The tensor's memory is its identity: vectors move and are copied by copy_of.
  Vector(const Vector&) = delete;
  Vector& operator=(const Vector&) = delete;
  Vector(Vector&&) = default;
  Vector& operator=(Vector&&) = default;
};

inline constexpr std::int64_t piece = 1 << 14;  ///< elements of a chunk: 128 KB of float64
inline constexpr std::int64_t block = 512;      ///< what stays in the first cache between an update and its sum

inline std::int64_t pieces_of(std::int64_t n) { return (n + piece - 1) / piece; }

/// f(begin, end) for blocks that together are [0, n).
template <class F> void over_blocks(std::int64_t n, const F& f) {
  parallel_for(pieces_of(n), [&](std::int64_t c) {
    const std::int64_t end = std::min(n, (c + 1) * piece);
    for (std::int64_t k = c * piece; k < end; k += block) f(k, std::min(end, k + block));
  });
}
/// The sum of what f(begin, end) returns, an array of numbers.
template <class S, std::size_t N, class F> std::array<S, N> sum_blocks(std::int64_t n, const F& f) {
  const std::int64_t count = pieces_of(n);
  const auto one = [&](std::int64_t c) {
    std::array<S, N> sum{};
    const std::int64_t end = std::min(n, (c + 1) * piece);
    for (std::int64_t k = c * piece; k < end; k += block) {
      const std::array<S, N> more = f(k, std::min(end, k + block));
      for (std::size_t s = 0; s < N; ++s) sum[s] += more[s];
    }
    return sum;
  };
  if (count == 0) return {};
  if (count == 1) return one(0);
  std::vector<std::array<S, N>> sums(static_cast<std::size_t>(count));
  parallel_for(count, [&](std::int64_t c) { sums[static_cast<std::size_t>(c)] = one(c); });
  return sum_in_pairs(
      0, count, [&](std::int64_t c) { return sums[static_cast<std::size_t>(c)]; },
      [](std::array<S, N> a, const std::array<S, N>& b) {
        for (std::size_t s = 0; s < N; ++s) a[s] += b[s];
        return a;
      });
}

/// Sum of conj(a) b, in lanes that the compiler keeps in vectors.
template <class T> Wide<T> dot_block(const T* a, const T* b, std::int64_t n) {
  if constexpr (is_complex_v<T>) {
    double re[4] = {}, im[4] = {};
    std::int64_t k = 0;
    for (; k + 4 <= n; k += 4)
      for (int l = 0; l < 4; ++l) {
        const double ar = a[k + l].real(), ai = a[k + l].imag(), br = b[k + l].real(), bi = b[k + l].imag();
        re[l] += ar * br + ai * bi, im[l] += ar * bi - ai * br;
      }
    for (; k < n; ++k) {
      const double ar = a[k].real(), ai = a[k].imag(), br = b[k].real(), bi = b[k].imag();
      re[0] += ar * br + ai * bi, im[0] += ar * bi - ai * br;
    }
    return {(re[0] + re[1]) + (re[2] + re[3]), (im[0] + im[1]) + (im[2] + im[3])};
  } else {
    double sum[8] = {};
    std::int64_t k = 0;
    for (; k + 8 <= n; k += 8)
      for (int l = 0; l < 8; ++l) sum[l] += static_cast<double>(a[k + l]) * static_cast<double>(b[k + l]);
    for (; k < n; ++k) sum[0] += static_cast<double>(a[k]) * static_cast<double>(b[k]);
    return ((sum[0] + sum[1]) + (sum[2] + sum[3])) + ((sum[4] + sum[5]) + (sum[6] + sum[7]));
  }
}
template <class T> double squares_block(const T* a, std::int64_t n) {
  if constexpr (is_complex_v<T>) return squares_block(reinterpret_cast<const Real<T>*>(a), 2 * n);
  else return dot_block(a, a, n);
}

template <class T> Wide<T> dot(const Vector<T>& a, const Vector<T>& b) {
  return sum_blocks<Wide<T>, 1>(
      a.n, [&](std::int64_t k, std::int64_t end) { return std::array{dot_block(a.data + k, b.data + k, end - k)}; })[0];
}
template <class T> double norm(const Vector<T>& a) {
  return std::sqrt(sum_blocks<double, 1>(
      a.n, [&](std::int64_t k, std::int64_t end) { return std::array{squares_block(a.data + k, end - k)}; })[0]);
}
template <class T> void copy(const Vector<T>& from, const Vector<T>& to) {
  over_blocks(from.n,
              [&](std::int64_t k, std::int64_t end) { std::copy(from.data + k, from.data + end, to.data + k); });
}
template <class T> void scale(const Vector<T>& v, double by) {
  const auto s = static_cast<Real<T>>(by);
  over_blocks(v.n, [&](std::int64_t k, std::int64_t end) {
    for (; k < end; ++k) v.data[k] *= s;
  });
}
/// y += a x
template <class T> void add(Wide<T> a, const Vector<T>& x, const Vector<T>& y) {
  const T s = static_cast<T>(a);
  over_blocks(x.n, [&](std::int64_t k, std::int64_t end) {
    for (; k < end; ++k) y.data[k] += times(s, x.data[k]);
  });
}
/// y = x + a y
template <class T> void add_to(const Vector<T>& x, Wide<T> a, const Vector<T>& y) {
  const T s = static_cast<T>(a);
  over_blocks(x.n, [&](std::int64_t k, std::int64_t end) {
    for (; k < end; ++k) y.data[k] = x.data[k] + times(s, y.data[k]);
  });
}
/// y += a x, and |y|
template <class T> double add_norm(Wide<T> a, const Vector<T>& x, const Vector<T>& y) {
  const T s = static_cast<T>(a);
  return std::sqrt(sum_blocks<double, 1>(x.n, [&](std::int64_t k, std::int64_t end) {
    for (std::int64_t i = k; i < end; ++i) y.data[i] += times(s, x.data[i]);
    return std::array{squares_block(y.data + k, end - k)};
  })[0]);
}

}  // namespace strata::solving
