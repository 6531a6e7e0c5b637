#include "solve/look.h"

#include <algorithm>

#include "backend/steps.h"

namespace strata::solving {
namespace {

/// Does the element (j, i) of a column stand where the walk through rows expects it, and is it the conjugate? Columns
/// are walked in order; `next[i]` is the first element of column i whose row was not yet met.
template <class T> bool is_hermitian(const Matrix<T>& a) {
  if (a.is_dense()) {
    for (std::int64_t i = 0; i < a.rows; ++i)
      for (std::int64_t j = 0; j <= i; ++j)
        if (a.values[i * a.columns + j] != conjugate(a.values[j * a.columns + i])) return false;
    return true;
  }
  std::vector<std::int32_t> next(a.pos, a.pos + a.columns);
  for (std::int64_t j = 0; j < a.columns; ++j)
    for (std::int32_t p = a.pos[j]; p < a.pos[j + 1]; ++p) {
      const auto i = static_cast<std::size_t>(a.crd[p]);
      const std::int32_t q = next[i]++;
      if (q >= a.pos[i + 1] || a.crd[q] != j || a.values[q] != conjugate(a.values[p])) return false;
    }
  return true;
}

}  // namespace

template <class T> Look look_at(const Matrix<T>& a) {
  Look look;
  std::int64_t positive = 0;
  const bool dense = a.is_dense();
  for_each(a, [&](std::int64_t i, std::int64_t j, T v) {
    if (!is_finite(v)) look.bad_row = i, look.bad_column = j;
    if (dense && v == T{}) return;
    look.lower = std::max(look.lower, i - j), look.upper = std::max(look.upper, j - i);
    look.largest = std::max(look.largest, magnitude(v));
    positive += i == j && real_part(v) > 0 && v == conjugate(v);
  });
  if (a.rows != a.columns) return look;
  look.positive_diagonal = positive == a.rows;
  // Triangles and bands are chosen before symmetry is asked for.
  if (look.lower == look.upper && look.lower > 0) look.hermitian = is_hermitian(a);
  return look;
}

Direct choose(const Look& look, std::int64_t rows, std::int64_t columns, std::int64_t stored, bool dense) {
  if (rows != columns) return Direct::qr;
  if (look.lower == 0 && look.upper == 0) return Direct::diagonal;
  if (look.upper == 0) return Direct::lower;
  if (look.lower == 0) return Direct::upper;
  if (look.lower == 1 && look.upper == 1) return Direct::tridiagonal;
  // Inside a band everything becomes nonzero: that pays where little of it was zero, or where it is a few numbers.
  const double width = static_cast<double>(look.lower + look.upper + 1), n = static_cast<double>(rows);
  if (dense ? width < 0.25 * n : width <= 9 || (static_cast<double>(stored) >= 0.25 * n * width && width < 0.5 * n))
    return Direct::banded;
  if (look.hermitian) return look.positive_diagonal ? Direct::cholesky : Direct::ldlt;
  return Direct::lu;
}

template <class T> std::int64_t structural_rank(const Matrix<T>& a) {
  // Augmenting paths, one search a column, without recursion. (Duff, "On algorithms for obtaining a maximum
  // transversal", 1981.)
  if (a.is_dense()) return std::min(a.rows, a.columns);
  std::vector<std::int32_t> column_of(static_cast<std::size_t>(a.rows), -1), seen(column_of.size(), -1);
  std::vector<std::int32_t> path, at(static_cast<std::size_t>(a.columns), 0);
  std::int64_t rank = 0, steps = 0;
  for (std::int32_t start = 0; start < a.columns; ++start) {
    path.assign(1, start);
    at[static_cast<std::size_t>(start)] = a.pos[start];
    while (!path.empty()) {
      const std::int32_t j = path.back();
      std::int32_t& p = at[static_cast<std::size_t>(j)];
      std::int32_t free_row = -1, deeper = -1;
      for (; p < a.pos[j + 1]; ++p) {
        poll_at(++steps);
        const auto i = static_cast<std::size_t>(a.crd[p]);
        if (seen[i] == start || a.values[p] == T{}) continue;
        seen[i] = start;
        if (column_of[i] < 0) free_row = a.crd[p];
        else deeper = column_of[i];
        break;
      }
      if (free_row >= 0) {
        for (const std::int32_t column : path)
          column_of[static_cast<std::size_t>(a.crd[at[static_cast<std::size_t>(column)]])] = column;
        ++rank;
        break;
      }
      if (deeper >= 0) {
        path.push_back(deeper);
        at[static_cast<std::size_t>(deeper)] = a.pos[deeper];
      } else {
        path.pop_back();
        if (!path.empty()) ++at[static_cast<std::size_t>(path.back())];
      }
    }
  }
  return rank;
}

template <class T> void refuse_singular(const Matrix<T>& a) {
  const std::int64_t rank = structural_rank(a);
  const std::string n = std::to_string(a.rows);
  throw SingularError({.what = rank < a.rows ? "the matrix is structurally singular: at most " + std::to_string(rank) +
                                                   " of " + n + " pivots can differ from 0, whatever the values"
                                             : "the matrix is singular: a pivot of its " + n + " is exactly 0",
                       .expected = "a matrix of full rank",
                       .fix = "lsmr() gives a solution of least squares"});
}

#define STRATA_LOOKS(T)                                       \
  template Look look_at<T>(const Matrix<T>&);                 \
  template std::int64_t structural_rank<T>(const Matrix<T>&); \
  template void refuse_singular<T>(const Matrix<T>&);
STRATA_LOOKS(float)
STRATA_LOOKS(double)
STRATA_LOOKS(std::complex<float>)
STRATA_LOOKS(std::complex<double>)
#undef STRATA_LOOKS

}  // namespace strata::solving
