#pragma once
// QR of a sparse matrix by Householder reflections, columns ordered by COLAMD and pivoted where they depend on others.
#include <Eigen/OrderingMethods>
#include <Eigen/SparseQR>

#include "solve/direct/eigen/eigen.h"
#include "solve/direct/eigen/qr.h"

namespace strata::solving {

template <class T> class SparseQr final : public Factors<T> {
 public:
  void factorize(const Matrix<T>& a) override {
    rows_ = a.rows, columns_ = a.columns;
    // With its own pivoting Eigen changes the order while it computes: it is found anew each time.
    qr_ = std::make_unique<Qr>();
    const Sparse<T> own = sparse_of(a);
    qr_->compute(own);
    if (qr_->info() != Eigen::Success) throw SolveError({.what = "QR failed: " + qr_->lastErrorMessage()});
    check_rank(qr_->rank(), columns_);
    // Sorted, so that its triangle can be solved from either side.
    const Eigen::SparseMatrix<T, Eigen::RowMajor, int> by_rows = qr_->matrixR().topRows(columns_);
    r_ = by_rows;
    pivots_ = {};
    for (std::int64_t j = 0; j < columns_; ++j) count_pivot(pivots_, r_.coeff(j, j), j == 0);
  }
  void solve(const T* b, T* x, std::int64_t k, Turn turn) const override {
    const auto& order = qr_->colsPermutation();
    if (turn == Turn::none) {
      const Dense<T> y = qr_->matrixQ().adjoint() * Dense<T>(sides(b, rows_, k));
      const Dense<T> z = r_.template triangularView<Eigen::Upper>().solve(y.topRows(columns_));
      sides(x, columns_, k) = order * z;
      return;
    }
    // a^H x = b: x = Q R^-H P^T b; the transpose is the conjugate of that.
    Dense<T> y = sides(b, columns_, k);
    if (turn == Turn::transposed) y = y.conjugate().eval();
    y = (order.transpose() * y).eval();
    r_.adjoint().template triangularView<Eigen::Lower>().solveInPlace(y);
    Dense<T> z = Dense<T>::Zero(rows_, k);
    z.topRows(columns_) = y;
    Dense<T> out = qr_->matrixQ() * z;
    if (turn == Turn::transposed) out = out.conjugate().eval();
    sides(x, rows_, k) = out;
  }
  Pivots pivots() const override { return pivots_; }
  void list(std::map<std::string, Tensor>& out) const override {
    ColumnList<T> columns;
    for (std::int64_t j = 0; j < columns_; ++j) {
      for (typename Sparse<T>::InnerIterator it(r_, j); it; ++it) columns.add(it.index(), it.value());
      columns.close();
    }
    out["R"] = columns.tensor(columns_);
    out["columns"] = order_of(
        Eigen::PermutationMatrix<Eigen::Dynamic, Eigen::Dynamic, int>(qr_->colsPermutation().transpose()), columns_);
  }
  std::string words() const override { return "sparse QR, " + std::to_string(r_.nonZeros()) + " elements in R"; }

 private:
  using Qr = Eigen::SparseQR<Sparse<T>, Eigen::COLAMDOrdering<int>>;
  std::unique_ptr<Qr> qr_;
  Sparse<T> r_;
  std::int64_t rows_ = 0, columns_ = 0;
  Pivots pivots_;
};

template <class T> FactorsPtr<T> make_sparse_qr() { return std::make_shared<SparseQr<T>>(); }

}  // namespace strata::solving
