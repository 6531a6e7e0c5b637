#pragma once
#include <cmath>

#include "solve/factors.h"

namespace strata::solving {

/// An estimate of how many times a relative change of the matrix can grow in the solution, whatever the scale of rows
/// and columns: |diag(c) a^-1 diag(d)| in the norm of rows, with c the largest elements of columns and d the sums of
/// rows of a diag(c)^-1. It is a lower bound, rarely off by more than a factor of three; four to ten solves. (Skeel
/// 1979; Hager 1984; Higham, Accuracy and Stability, 15.2.)
template <class T> double condition(const Matrix<T>& a, const Factors<T>& factors) {
  const auto n = static_cast<std::size_t>(a.rows);
  std::vector<double> c(n, 0), d(n, 0);
  for_each(a, [&](std::int64_t, std::int64_t j, T v) {
    c[static_cast<std::size_t>(j)] = std::max(c[static_cast<std::size_t>(j)], magnitude(v));
  });
  for_each(a, [&](std::int64_t i, std::int64_t j, T v) {
    if (const double scale = c[static_cast<std::size_t>(j)]; scale > 0)
      d[static_cast<std::size_t>(i)] += magnitude(v) / scale;
  });
  for (std::size_t i = 0; i < n; ++i)
    if (!(c[i] > 0) || !(d[i] > 0)) return HUGE_VAL;  // a column or a row of zeros
  std::vector<T> x(n), y(n), z(n);
  const auto scaled = [&](std::vector<T>& v, const std::vector<double>& by) {
    for (std::size_t i = 0; i < n; ++i) v[i] *= static_cast<Real<T>>(by[i]);
  };
  for (auto& v : x) v = static_cast<Real<T>>(1.0 / static_cast<double>(n));
  double found = 0;
  std::size_t before = n;
  for (int turn = 0; turn < 5; ++turn) {
    scaled(x, c);
    factors.solve(x.data(), y.data(), 1, Turn::adjoint);
    scaled(y, d);
    double sum = 0;
    for (const T v : y) sum += magnitude(v);
    if (!std::isfinite(sum)) return HUGE_VAL;
    if (turn > 0 && sum <= found) break;
    found = sum;
    for (std::size_t i = 0; i < n; ++i) y[i] = y[i] == T{} ? T{1} : y[i] / static_cast<Real<T>>(magnitude(y[i]));
    scaled(y, d);
    factors.solve(y.data(), z.data(), 1, Turn::none);
    scaled(z, c);
    std::size_t largest = 0;
    for (std::size_t i = 0; i < n; ++i) {
      if (!is_finite(z[i])) return HUGE_VAL;
      if (magnitude(z[i]) > magnitude(z[largest])) largest = i;
    }
    if (largest == before) break;
    before = largest;
    std::fill(x.begin(), x.end(), T{});
    x[largest] = T{1};
  }
  return found;
}

}  // namespace strata::solving
