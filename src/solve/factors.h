#pragma once
// What every factorization does, and who makes which.
#include <map>
#include <memory>
#include <string>

#include "solve/matrix.h"

namespace strata::solving {

/// Magnitudes of the smallest and the largest pivot.
struct Pivots {
  double smallest = 1, largest = 1;
  double noise = 0;           ///< pivots that were too small were moved by this much, relative to the matrix
  std::int64_t negative = 0;  ///< of L D L^H
};
struct LogDet {
  std::complex<double> phase = 1;
  double log = 0;
};

/// One factorized matrix.
template <class T> class Factors {
 public:
  virtual ~Factors() = default;
  /// The order of elimination, from the places that are stored.
  virtual void analyse(const Matrix<T>&) {}
  /// Again for other values in the same places. SingularError, IndefiniteError.
  virtual void factorize(const Matrix<T>& a) = 0;
  /// `k` right-hand sides one after the other in b, their solutions in x; b and x are not the same memory.
  virtual void solve(const T* b, T* x, std::int64_t k, Turn turn) const = 0;
  virtual Pivots pivots() const { return {}; }
  virtual std::optional<LogDet> logdet() const { return {}; }
  virtual void list(std::map<std::string, Tensor>&) const {}
  virtual std::string words() const = 0;
};
template <class T> using FactorsPtr = std::shared_ptr<Factors<T>>;

/// Divides by the diagonal.
template <class T> FactorsPtr<T> make_diagonal();
/// Substitution; what stands in the other triangle is not read.
template <class T> FactorsPtr<T> make_triangular(bool lower, bool unit_diagonal);
/// LU of a band with partial pivoting; what stands outside is not read.
template <class T> FactorsPtr<T> make_banded(std::int64_t lower, std::int64_t upper);

// --- Eigen's; Unsupported without it. Computed in double precision, whatever T is (single.cpp). ---
/// L D L^H; with `positive` IndefiniteError unless all of D is positive.
template <class T> FactorsPtr<T> make_sparse_ldlt(bool positive);
template <class T> FactorsPtr<T> make_sparse_lu();
/// Of matrices with at least as many rows as columns. Turn::adjoint gives the smallest solution of the adjoint system.
template <class T> FactorsPtr<T> make_sparse_qr();
template <class T> FactorsPtr<T> make_dense_cholesky();
template <class T> FactorsPtr<T> make_dense_lu();
template <class T> FactorsPtr<T> make_dense_qr();

// --- Libraries that are found at run time; Unsupported where they are not. In double precision too. ---
/// kind: cholesky, ldlt or lu.
template <class T> FactorsPtr<T> make_pardiso(Direct kind);
template <class T> FactorsPtr<T> make_cholmod();
template <class T> FactorsPtr<T> make_umfpack();

/// Sign of a permutation.
template <class Index> int parity(const Index* to, std::int64_t n) {
  std::vector<char> seen(static_cast<std::size_t>(n), 0);
  int sign = 1;
  for (std::int64_t i = 0; i < n; ++i) {
    std::int64_t length = 0;
    for (std::int64_t k = i; !seen[static_cast<std::size_t>(k)]; k = to[k])
      seen[static_cast<std::size_t>(k)] = 1, ++length;
    if (length > 0 && length % 2 == 0) sign = -sign;
  }
  return sign;
}
/// One pivot of a determinant.
template <class T> void multiply(LogDet& d, T pivot) {
  const std::complex<double> z(pivot);
  const double size = std::abs(z);
  d.log += std::log(size);
  d.phase *= size > 0 ? z / size : 0.0;
}
template <class T> void count_pivot(Pivots& p, T pivot, bool first) {
  const double size = magnitude(pivot);
  p.smallest = first ? size : std::min(p.smallest, size);
  p.largest = first ? size : std::max(p.largest, size);
  p.negative += real_part(pivot) < 0;
}
/// "the matrix is singular: pivot 3 of 10 is 0".
[[noreturn]] void refuse_pivot(std::int64_t at, std::int64_t n);

}  // namespace strata::solving
