#pragma once
// Eigen, of which only parts under MPL2 are let in. Included by the files of this folder alone, one for each
// factorization and element type, so that nobody else waits for its templates.
#define EIGEN_MPL2_ONLY
#define EIGEN_DONT_PARALLELIZE  // threads are the pool's
#include <Eigen/Core>
#include <Eigen/SparseCore>
#include <algorithm>

#include "solve/factors.h"

namespace strata::solving {

template <class T> using Dense = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic>;
template <class T> using DenseRows = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
template <class T> using Sparse = Eigen::SparseMatrix<T, Eigen::ColMajor, int>;

/// The caller's columns as a matrix of Eigen's.
template <class T> Eigen::Map<const Sparse<T>> sparse_of(const Matrix<T>& a) {
  return {a.rows, a.columns, a.stored(), a.pos, a.crd, a.values};
}
template <class T> Eigen::Map<const DenseRows<T>> dense_of(const Matrix<T>& a) { return {a.values, a.rows, a.columns}; }
template <class T> Eigen::Map<const Dense<T>> sides(const T* b, std::int64_t rows, std::int64_t k) {
  return {b, rows, k};
}
template <class T> Eigen::Map<Dense<T>> sides(T* x, std::int64_t rows, std::int64_t k) { return {x, rows, k}; }

/// order[new] = old, of a permutation of Eigen's, which says where each one goes.
template <class P> Tensor order_of(const P& p, std::int64_t n) {
  Buffer out = Buffer::allocate(DType::i64, n);
  auto* to = static_cast<std::int64_t*>(out.data);
  for (std::int64_t k = 0; k < n; ++k) to[p.size() > 0 ? p.indices()[k] : k] = k;
  const std::int64_t stride = 1;
  return borrow_dense(out, {n}, {&stride, 1});
}

/// Columns whose rows come in any order, as a CSC tensor.
template <class T> class ColumnList {
 public:
  void add(std::int64_t row, T value) { column_.emplace_back(static_cast<std::int32_t>(row), value); }
  void close() {
    std::sort(column_.begin(), column_.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    for (const auto& [row, value] : column_) crd_.push_back(row), values_.push_back(value);
    pos_.push_back(static_cast<std::int32_t>(crd_.size()));
    column_.clear();
  }
  Tensor tensor(std::int64_t rows) {
    const auto columns = static_cast<std::int64_t>(pos_.size()) - 1;
    return csc_tensor<T>(rows, columns, std::move(pos_), std::move(crd_), std::move(values_));
  }

 private:
  std::vector<std::pair<std::int32_t, T>> column_;
  std::vector<std::int32_t> pos_ = {0}, crd_;
  std::vector<T> values_;
};

/// A dense matrix as a tensor (row-major).
template <class E> Tensor tensor_of_dense(const E& m) {
  using T = typename E::Scalar;
  Buffer out = Buffer::allocate(dtype_of<T>(), m.rows() * m.cols());
  Eigen::Map<DenseRows<T>>(static_cast<T*>(out.data), m.rows(), m.cols()) = m;
  const std::int64_t strides[] = {std::max<std::int64_t>(m.cols(), 1), 1};
  return borrow_dense(out, {m.rows(), m.cols()}, strides);
}

}  // namespace strata::solving
