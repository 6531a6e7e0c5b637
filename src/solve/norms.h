#pragma once
// Lengths of vectors, sums of matrices, and what an equation leaves.
#include <algorithm>
#include <cmath>
#include <vector>

#include "solve/factors.h"

namespace strata::solving {

/// The largest sums of magnitudes of rows and of columns.
struct Norms {
  double rows = 0, columns = 0;
};

template <class T> Norms norms_of(const Matrix<T>& a) {
  std::vector<double> rows(static_cast<std::size_t>(a.rows), 0), columns(static_cast<std::size_t>(a.columns), 0);
  for_each(a, [&](std::int64_t i, std::int64_t j, T v) {
    rows[static_cast<std::size_t>(i)] += magnitude(v), columns[static_cast<std::size_t>(j)] += magnitude(v);
  });
  Norms n;
  for (const double v : rows) n.rows = std::max(n.rows, v);
  for (const double v : columns) n.columns = std::max(n.columns, v);
  return n;
}

/// y -= op(a) x
template <class T> void subtract_product(const Matrix<T>& a, Turn turn, const T* x, T* y) {
  const auto value = [&](T v) { return turn == Turn::adjoint ? conjugate(v) : v; };
  if (a.is_dense()) {
    for (std::int64_t i = 0; i < a.rows; ++i) {
      const T* row = a.values + i * a.columns;
      if (turn == Turn::none) {
        T sum{};
        for (std::int64_t j = 0; j < a.columns; ++j) sum += times(row[j], x[j]);
        y[i] -= sum;
      } else {
        for (std::int64_t j = 0; j < a.columns; ++j) y[j] -= times(value(row[j]), x[i]);
      }
    }
    return;
  }
  for (std::int64_t j = 0; j < a.columns; ++j) {
    if (turn == Turn::none) {
      const T v = x[j];
      for (std::int32_t p = a.pos[j]; p < a.pos[j + 1]; ++p) y[a.crd[p]] -= times(a.values[p], v);
    } else {
      T sum{};
      for (std::int32_t p = a.pos[j]; p < a.pos[j + 1]; ++p) sum += times(value(a.values[p]), x[a.crd[p]]);
      y[j] -= sum;
    }
  }
}

template <class T> double largest_of(const T* v, std::int64_t n) {
  double found = 0;
  for (std::int64_t i = 0; i < n; ++i) found = std::max(found, magnitude(v[i]));
  return found;
}
/// Also of numbers whose squares leave the range.
template <class T> double length(const T* v, std::int64_t n) {
  double sum = 0;
  for (std::int64_t i = 0; i < n; ++i) sum += square(v[i]);
  if (sum > 1e-280 && std::isfinite(sum)) return std::sqrt(sum);
  const double scale = largest_of(v, n);
  if (std::isnan(sum)) return sum;
  if (scale == 0 || !std::isfinite(scale)) return scale;
  sum = 0;
  for (std::int64_t i = 0; i < n; ++i) sum += (magnitude(v[i]) / scale) * (magnitude(v[i]) / scale);
  return scale * std::sqrt(sum);
}

}  // namespace strata::solving
