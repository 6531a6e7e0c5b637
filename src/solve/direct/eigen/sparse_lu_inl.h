#pragma once
// LU of a sparse matrix by supernodes with partial pivoting, columns ordered by COLAMD.
#include <Eigen/SparseLU>

#include "solve/direct/eigen/eigen.h"
#include "solve/look.h"

namespace strata::solving {

template <class T> class SparseLu final : public Factors<T> {
 public:
  void analyse(const Matrix<T>& a) override { lu_.analyzePattern(sparse_of(a)); }
  void factorize(const Matrix<T>& a) override {
    lu_.factorize(sparse_of(a));
    if (lu_.info() != Eigen::Success) refuse(a);
    n_ = a.rows;
    pivots_ = {};
    det_ = {};
    det_.phase =
        parity(lu_.rowsPermutation().indices().data(), n_) * parity(lu_.colsPermutation().indices().data(), n_);
    // The diagonal of U stands in the blocks of L.
    const auto& blocks = lu_.matrixU().m_mapL;
    for (std::int64_t j = 0; j < n_; ++j)
      for (typename Blocks::InnerIterator it(blocks, j); it; ++it)
        if (it.index() == j) {
          if (it.value() == T{}) refuse_pivot(j, n_);
          count_pivot(pivots_, it.value(), j == 0);
          multiply(det_, it.value());
          break;
        }
    unpack();
  }
  void solve(const T* b, T* x, std::int64_t k, Turn turn) const override {
    if (!small_.pos_l.empty()) return solve_small(b, x, k, turn);
    // Eigen's views of the transpose are not const; they change nothing.
    auto& lu = const_cast<Lu&>(lu_);
    Dense<T> out;
    if (turn == Turn::none) out = lu.solve(sides(b, n_, k));
    else if (turn == Turn::transposed) out = lu.transpose().solve(sides(b, n_, k));
    else out = lu.adjoint().solve(sides(b, n_, k));
    sides(x, n_, k) = out;
  }
  Pivots pivots() const override { return pivots_; }
  std::optional<LogDet> logdet() const override { return det_; }
  void list(std::map<std::string, Tensor>& out) const override {
    ColumnList<T> lower, upper;
    for (std::int64_t j = 0; j < n_; ++j) {
      lower.add(j, T{1});
      column(j, [&](std::int64_t i, T v) { (i > j ? lower : upper).add(i, v); });
      lower.close(), upper.close();
    }
    out["L"] = lower.tensor(n_);
    out["U"] = upper.tensor(n_);
    out["rows"] = order_of(lu_.rowsPermutation(), n_);
    out["columns"] = order_of(lu_.colsPermutation(), n_);
  }
  std::string words() const override {
    return "sparse LU, " + std::to_string(lu_.nnzL()) + " elements in L and " + std::to_string(lu_.nnzU()) + " in U";
  }

 private:
  using Lu = Eigen::SparseLU<Sparse<T>, Eigen::COLAMDOrdering<int>>;
  using Blocks = typename Lu::SCMatrix;

  [[noreturn]] void refuse(const Matrix<T>& a) const {
    const std::string told = lu_.lastErrorMessage();
    if (told.find("ALLOC") != std::string::npos || told.find("MEMORY") != std::string::npos) throw std::bad_alloc();
    const std::int64_t rank = structural_rank(a);
    const std::string n = std::to_string(a.rows);
    if (rank < a.rows)
      throw SingularError({.what = "the matrix is structurally singular: at most " + std::to_string(rank) + " of " + n +
                                   " pivots can differ from 0, whatever the values",
                           .expected = "a matrix of full rank",
                           .fix = "lsmr() gives a solution of least squares"});
    throw SingularError({.what = "the matrix is singular: a pivot of its " + n + " is exactly 0",
                         .expected = "a matrix of full rank",
                         .fix = "lsmr() gives a solution of least squares"});
  }

  /// f(row, value) of column j of L and U; L's diagonal is 1, and left out.
  template <class F> void column(std::int64_t j, const F& f) const {
    const auto u = lu_.matrixU();
    using Above = std::decay_t<decltype(u.m_mapU)>;
    for (typename Above::InnerIterator it(u.m_mapU, j); it; ++it)
      if (it.value() != T{}) f(std::int64_t{it.index()}, it.value());
    for (typename Blocks::InnerIterator it(u.m_mapL, j); it; ++it)
      if (it.value() != T{}) f(static_cast<std::int64_t>(it.index()), it.value());  // supernodes are padded
  }

  /// Small factors as plain columns too: supernodes cost more to begin than a few numbers to add.
  struct Small {
    std::vector<std::int32_t> pos_l, pos_u, crd_l, crd_u;
    std::vector<T> l, u, diagonal;
  };
  void unpack() {
    small_ = {};
    if (lu_.nnzL() + lu_.nnzU() > (1 << 17)) return;
    small_.pos_l.push_back(0), small_.pos_u.push_back(0);
    small_.diagonal.resize(static_cast<std::size_t>(n_));
    for (std::int64_t j = 0; j < n_; ++j) {
      column(j, [&](std::int64_t i, T v) {
        if (i == j) small_.diagonal[static_cast<std::size_t>(j)] = v;
        else if (i > j) small_.crd_l.push_back(static_cast<std::int32_t>(i)), small_.l.push_back(v);
        else small_.crd_u.push_back(static_cast<std::int32_t>(i)), small_.u.push_back(v);
      });
      small_.pos_l.push_back(static_cast<std::int32_t>(small_.crd_l.size()));
      small_.pos_u.push_back(static_cast<std::int32_t>(small_.crd_u.size()));
    }
  }
  void solve_small(const T* b, T* x, std::int64_t k, Turn turn) const {
    const int *to_row = lu_.rowsPermutation().indices().data(), *to_column = lu_.colsPermutation().indices().data();
    const std::int32_t *pl = small_.pos_l.data(), *pu = small_.pos_u.data(), *cl = small_.crd_l.data(),
                       *cu = small_.crd_u.data();
    const T *l = small_.l.data(), *u = small_.u.data(), *d = small_.diagonal.data();
    thread_local std::vector<T> kept;
    std::vector<T> own = std::move(kept);
    own.resize(static_cast<std::size_t>(n_));
    T* y = own.data();
    for (std::int64_t c = 0; c < k; ++c, b += n_, x += n_) {
      if (turn == Turn::none) {
        for (std::int64_t i = 0; i < n_; ++i) y[to_row[i]] = b[i];
        for (std::int64_t j = 0; j < n_; ++j) {
          const T v = y[j];
          for (std::int32_t p = pl[j]; p < pl[j + 1]; ++p) y[cl[p]] -= times(l[p], v);
        }
        for (std::int64_t j = n_; j-- > 0;) {
          const T v = y[j] = y[j] / d[j];
          for (std::int32_t p = pu[j]; p < pu[j + 1]; ++p) y[cu[p]] -= times(u[p], v);
        }
        for (std::int64_t i = 0; i < n_; ++i) x[i] = y[to_column[i]];
        continue;
      }
      const auto value = [&](T v) { return turn == Turn::adjoint ? conjugate(v) : v; };
      for (std::int64_t i = 0; i < n_; ++i) y[to_column[i]] = b[i];
      for (std::int64_t j = 0; j < n_; ++j) {
        T sum = y[j];
        for (std::int32_t p = pu[j]; p < pu[j + 1]; ++p) sum -= times(value(u[p]), y[cu[p]]);
        y[j] = sum / value(d[j]);
      }
      for (std::int64_t j = n_; j-- > 0;) {
        T sum = y[j];
        for (std::int32_t p = pl[j]; p < pl[j + 1]; ++p) sum -= times(value(l[p]), y[cl[p]]);
        y[j] = sum;
      }
      for (std::int64_t i = 0; i < n_; ++i) x[i] = y[to_row[i]];
    }
    kept = std::move(own);
  }

  Lu lu_;
  Small small_;
  std::int64_t n_ = 0;
  Pivots pivots_;
  LogDet det_;
};

template <class T> FactorsPtr<T> make_sparse_lu() { return std::make_shared<SparseLu<T>>(); }

}  // namespace strata::solving
