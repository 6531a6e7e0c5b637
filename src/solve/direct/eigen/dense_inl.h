#pragma once
// Dense matrices: Cholesky, LU with partial pivoting, QR with pivoted columns.
#include <Eigen/Cholesky>
#include <Eigen/LU>
#include <Eigen/QR>

#include "solve/direct/eigen/eigen.h"
#include "solve/direct/eigen/qr.h"

namespace strata::solving {

/// A sparse matrix that is to be solved as a dense one is spread out first.
template <class T> Dense<T> spread(const Matrix<T>& a) {
  if (a.is_dense()) return dense_of(a);
  return Dense<T>(sparse_of(a));
}

template <class T> class DenseCholesky final : public Factors<T> {
 public:
  void factorize(const Matrix<T>& a) override {
    n_ = a.rows;
    llt_.compute(spread(a));
    if (llt_.info() != Eigen::Success)
      throw IndefiniteError({.what = "the matrix of " + std::to_string(n_) + " rows is not positive definite",
                             .expected = "positive pivots",
                             .fix = "method='lu'"});
    pivots_ = {};
    for (std::int64_t j = 0; j < n_; ++j) {
      const T d = llt_.matrixLLT()(j, j);
      count_pivot(pivots_, times(d, d), j == 0);
    }
  }
  void solve(const T* b, T* x, std::int64_t k, Turn turn) const override {
    Dense<T> out = sides(b, n_, k);
    if (turn == Turn::transposed) out = out.conjugate().eval();
    llt_.solveInPlace(out);
    if (turn == Turn::transposed) out = out.conjugate().eval();
    sides(x, n_, k) = out;
  }
  Pivots pivots() const override { return pivots_; }
  std::optional<LogDet> logdet() const override {
    LogDet d;
    for (std::int64_t j = 0; j < n_; ++j) multiply(d, llt_.matrixLLT()(j, j));
    d.log *= 2;
    return d;
  }
  void list(std::map<std::string, Tensor>& out) const override {
    out["L"] = tensor_of_dense(Dense<T>(llt_.matrixL()));
    out["rows"] = order_of(Eigen::PermutationMatrix<Eigen::Dynamic>(), n_);
  }
  std::string words() const override { return "dense Cholesky"; }

 private:
  Eigen::LLT<Dense<T>> llt_;
  std::int64_t n_ = 0;
  Pivots pivots_;
};

template <class T> class DenseLu final : public Factors<T> {
 public:
  void factorize(const Matrix<T>& a) override {
    n_ = a.rows;
    lu_.compute(spread(a));
    pivots_ = {};
    for (std::int64_t j = 0; j < n_; ++j) {
      const T pivot = lu_.matrixLU()(j, j);
      if (pivot == T{}) refuse_pivot(j, n_);
      count_pivot(pivots_, pivot, j == 0);
    }
  }
  void solve(const T* b, T* x, std::int64_t k, Turn turn) const override {
    if (turn == Turn::none) sides(x, n_, k) = lu_.solve(sides(b, n_, k));
    else if (turn == Turn::transposed) sides(x, n_, k) = lu_.transpose().solve(sides(b, n_, k));
    else sides(x, n_, k) = lu_.adjoint().solve(sides(b, n_, k));
  }
  Pivots pivots() const override { return pivots_; }
  std::optional<LogDet> logdet() const override {
    LogDet d;
    d.phase = parity(lu_.permutationP().indices().data(), n_);
    for (std::int64_t j = 0; j < n_; ++j) multiply(d, lu_.matrixLU()(j, j));
    return d;
  }
  void list(std::map<std::string, Tensor>& out) const override {
    out["L"] = tensor_of_dense(Dense<T>(lu_.matrixLU().template triangularView<Eigen::UnitLower>()));
    out["U"] = tensor_of_dense(Dense<T>(lu_.matrixLU().template triangularView<Eigen::Upper>()));
    out["rows"] = order_of(lu_.permutationP(), n_);
    out["columns"] = order_of(Eigen::PermutationMatrix<Eigen::Dynamic>(), n_);
  }
  std::string words() const override { return "dense LU"; }

 private:
  Eigen::PartialPivLU<Dense<T>> lu_;
  std::int64_t n_ = 0;
  Pivots pivots_;
};

template <class T> class DenseQr final : public Factors<T> {
 public:
  void factorize(const Matrix<T>& a) override {
    rows_ = a.rows, columns_ = a.columns;
    qr_.compute(spread(a));
    check_rank(qr_.rank(), columns_);
    pivots_ = {};
    for (std::int64_t j = 0; j < columns_; ++j) count_pivot(pivots_, qr_.matrixQR()(j, j), j == 0);
  }
  void solve(const T* b, T* x, std::int64_t k, Turn turn) const override {
    const auto r = qr_.matrixQR().topRows(columns_).template triangularView<Eigen::Upper>();
    const auto& order = qr_.colsPermutation();
    if (turn == Turn::none) {
      Dense<T> y = sides(b, rows_, k);
      y.applyOnTheLeft(qr_.householderQ().adjoint());
      const Dense<T> z = r.solve(y.topRows(columns_));
      sides(x, columns_, k) = order * z;
      return;
    }
    Dense<T> y = sides(b, columns_, k);
    if (turn == Turn::transposed) y = y.conjugate().eval();
    y = (order.transpose() * y).eval();
    Dense<T> z = Dense<T>::Zero(rows_, k);
    z.topRows(columns_) = r.adjoint().solve(y);
    z.applyOnTheLeft(qr_.householderQ());
    if (turn == Turn::transposed) z = z.conjugate().eval();
    sides(x, rows_, k) = z;
  }
  Pivots pivots() const override { return pivots_; }
  void list(std::map<std::string, Tensor>& out) const override {
    out["R"] = tensor_of_dense(Dense<T>(qr_.matrixQR().topRows(columns_).template triangularView<Eigen::Upper>()));
    out["columns"] = order_of(Eigen::PermutationMatrix<Eigen::Dynamic>(qr_.colsPermutation().transpose()), columns_);
  }
  std::string words() const override { return "dense QR"; }

 private:
  Eigen::ColPivHouseholderQR<Dense<T>> qr_;
  std::int64_t rows_ = 0, columns_ = 0;
  Pivots pivots_;
};

template <class T> FactorsPtr<T> make_dense_cholesky() { return std::make_shared<DenseCholesky<T>>(); }
template <class T> FactorsPtr<T> make_dense_lu() { return std::make_shared<DenseLu<T>>(); }
template <class T> FactorsPtr<T> make_dense_qr() { return std::make_shared<DenseQr<T>>(); }

}  // namespace strata::solving
