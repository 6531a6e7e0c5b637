#pragma once
// L D L^H of a sparse Hermitian matrix, ordered by minimum degree, without pivoting. It is Cholesky's where all of D is
// positive, and stable there; elsewhere the growth of L says whether it can be believed.
#include <Eigen/SparseCholesky>

#include "solve/direct/eigen/eigen.h"

namespace strata::solving {

template <class T> class SparseLdlt final : public Factors<T> {
 public:
  explicit SparseLdlt(bool positive) : positive_(positive) {}

  void analyse(const Matrix<T>& a) override { ldlt_.analyzePattern(sparse_of(a)); }
  void factorize(const Matrix<T>& a) override {
    ldlt_.factorize(sparse_of(a));
    // Where a pivot is 0, Eigen stops; what stands behind it was never computed.
    const auto n = static_cast<std::int64_t>(a.rows);
    pivots_ = {};
    const auto d = ldlt_.vectorD();
    for (std::int64_t j = 0; j < n; ++j) {
      const double pivot = real_part(d[j]);
      if (positive_ && !(pivot > 0))
        throw IndefiniteError({.what = "the matrix is not positive definite: pivot " + std::to_string(j + 1) + " of " +
                                       std::to_string(n) + " (row " + std::to_string(row(j)) + ") is " +
                                       Scalar::of(pivot).to_string(),
                               .expected = "positive pivots",
                               .fix = "method='lu', or assume='symmetric'"});
      if (pivot == 0) refuse_pivot(j, n);
      count_pivot(pivots_, d[j], j == 0);
    }
    if (positive_) return;
    double largest = 0;
    const Sparse<T>& l = lower();
    for (Eigen::Index p = 0; p < l.nonZeros(); ++p) largest = std::max(largest, magnitude(l.valuePtr()[p]));
    if (!(largest <= 1 / std::sqrt(std::sqrt(epsilon<T>))))
      throw SolveError({.what = "L D L^H without pivoting loses too many digits here: the largest element of L is " +
                                Scalar::of(largest).to_string(),
                        .expected = "elements of moderate size",
                        .fix = "method='lu'"});
  }
  void solve(const T* b, T* x, std::int64_t k, Turn turn) const override {
    const Eigen::Index n = ldlt_.rows();
    if (turn == Turn::transposed && is_complex_v<T>) {  // conj(a) x = b
      const Dense<T> turned = sides(b, n, k).conjugate();
      const Dense<T> out = ldlt_.solve(turned);
      sides(x, n, k) = out.conjugate();
      return;
    }
    sides(x, n, k) = ldlt_.solve(sides(b, n, k));
  }
  Pivots pivots() const override { return pivots_; }
  std::optional<LogDet> logdet() const override {
    LogDet out;
    const auto d = ldlt_.vectorD();
    for (Eigen::Index j = 0; j < d.size(); ++j) multiply(out, d[j]);
    return out;
  }
  void list(std::map<std::string, Tensor>& out) const override {
    const auto n = static_cast<std::int64_t>(ldlt_.rows());
    const auto d = ldlt_.vectorD();
    const Sparse<T>& l = lower();
    ColumnList<T> columns;
    for (std::int64_t j = 0; j < n; ++j) {
      const T scale = positive_ ? T(std::sqrt(static_cast<Real<T>>(real_part(d[j])))) : T{1};
      columns.add(j, scale);
      for (typename Sparse<T>::InnerIterator it(l, j); it; ++it)
        if (it.index() > j) columns.add(it.index(), times(it.value(), scale));
      columns.close();
    }
    out["L"] = columns.tensor(n);
    if (!positive_) {
      Buffer values = Buffer::allocate(dtype_of<T>(), n);
      for (std::int64_t j = 0; j < n; ++j) static_cast<T*>(values.data)[j] = d[j];
      const std::int64_t stride = 1;
      out["D"] = borrow_dense(values, {n}, {&stride, 1});
    }
    out["rows"] = order_of(ldlt_.permutationP(), n);
  }
  std::string words() const override {
    return std::string(positive_ ? "sparse Cholesky" : "sparse L D L^H") + ", " +
           std::to_string(lower().nonZeros() + ldlt_.rows()) + " elements in L";
  }

 private:
  using Ldlt = Eigen::SimplicialLDLT<Sparse<T>, Eigen::Lower, Eigen::AMDOrdering<int>>;
  const Sparse<T>& lower() const { return static_cast<const FactorReader&>(ldlt_).factor(); }
  std::int64_t row(std::int64_t pivot) const {
    return ldlt_.permutationPinv().size() > 0 ? ldlt_.permutationPinv().indices()[pivot] : pivot;
  }
  /// Eigen shows the factor only as a triangle of an expression.
  struct FactorReader : Ldlt {
    const Sparse<T>& factor() const { return this->m_matrix; }
  };

  bool positive_;
  FactorReader ldlt_;
  Pivots pivots_;
};

template <class T> FactorsPtr<T> make_sparse_ldlt(bool positive) { return std::make_shared<SparseLdlt<T>>(positive); }

}  // namespace strata::solving
