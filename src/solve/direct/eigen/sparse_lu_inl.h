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
    blocks_ = &blocks, supernodes_ = blocks.nsuper() + 1;
    for (std::int64_t j = 0; j < n_; ++j)
      for (typename Blocks::InnerIterator it(blocks, j); it; ++it)
        if (it.index() == j) {
          if (it.value() == T{}) refuse_pivot(j, n_);
          count_pivot(pivots_, it.value(), j == 0);
          multiply(det_, it.value());
          break;
        }
    find_runs();
  }
  void solve(const T* b, T* x, std::int64_t k, Turn turn) const override {
    if (k < 4 || lu_.nnzL() + lu_.nnzU() < (1 << 17)) {
      for (std::int64_t c = 0; c < k; ++c) solve_one(b + c * n_, x + c * n_, turn);
      return;
    }
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
    refuse_singular(a);
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

  /// One right-hand side, in the order of the factors, by loops of our own over Eigen's supernodes: for one its calls
  /// of dense products cost more than the few numbers in them.
  struct Supernode {
    std::int64_t first, width, below, leading;
    const T* block;            ///< column by column; U's triangle in the upper part, L's in the lower
    const std::int32_t* rows;  ///< of what stands below the triangle
  };
  Supernode supernode(std::int64_t s) const {
    const auto& l = *blocks_;
    const std::int64_t first = l.supToCol()[s], width = l.supToCol()[s + 1] - first, begin = l.rowIndexPtr()[first];
    return {first,
            width,
            l.rowIndexPtr()[first + 1] - begin - width,
            l.colIndexPtr()[first + 1] - l.colIndexPtr()[first],
            l.valuePtr() + l.colIndexPtr()[first],
            l.rowIndex() + begin + width};
  }
  void forward(T* y) const {
    for (std::int64_t s = 0; s < supernodes_; ++s) {
      const Supernode n = supernode(s);
      T* x = y + n.first;
      for (std::int64_t c = 0; c < n.width; ++c)
        for (std::int64_t i = c + 1; i < n.width; ++i) x[i] -= times(n.block[c * n.leading + i], x[c]);
      std::int64_t c = 0;
      for (; c + 4 <= n.width; c += 4) {
        const T *a = n.block + c * n.leading + n.width, *b = a + n.leading, *d = b + n.leading, *e = d + n.leading;
        const T u = x[c], v = x[c + 1], w = x[c + 2], z = x[c + 3];
        for (std::int64_t i = 0; i < n.below; ++i)
          y[n.rows[i]] -= (times(a[i], u) + times(b[i], v)) + (times(d[i], w) + times(e[i], z));
      }
      for (; c < n.width; ++c) {
        const T* a = n.block + c * n.leading + n.width;
        const T u = x[c];
        for (std::int64_t i = 0; i < n.below; ++i) y[n.rows[i]] -= times(a[i], u);
      }
    }
  }
  void backward(T* y) const {
    for (std::int64_t s = supernodes_; s-- > 0;) {
      const Supernode n = supernode(s);
      T* x = y + n.first;
      for (std::int64_t c = n.width; c-- > 0;) {
        const T* a = n.block + c * n.leading;
        const T v = x[c] = x[c] / a[c];
        for (std::int64_t i = 0; i < c; ++i) x[i] -= times(a[i], v);
        over_runs(n.first + c,
                  [&](std::int32_t row, Part above) { Eigen::Map<Vector>(y + row, above.size()) -= v * above; });
      }
    }
  }
  void backward_turned(T* y, bool conjugated) const {
    const auto value = [=](T v) { return conjugated ? conjugate(v) : v; };
    for (std::int64_t s = 0; s < supernodes_; ++s) {
      const Supernode n = supernode(s);
      T* x = y + n.first;
      for (std::int64_t c = 0; c < n.width; ++c) {
        const T* a = n.block + c * n.leading;
        T sum = x[c];
        over_runs(n.first + c, [&](std::int32_t row, Part above) {
          const Part left(y + row, above.size());
          sum -= conjugated ? above.dot(left) : above.cwiseProduct(left).sum();
        });
        for (std::int64_t i = 0; i < c; ++i) sum -= times(value(a[i]), x[i]);
        x[c] = sum / value(a[c]);
      }
    }
  }
  void forward_turned(T* y, bool conjugated) const {
    const auto value = [=](T v) { return conjugated ? conjugate(v) : v; };
    for (std::int64_t s = supernodes_; s-- > 0;) {
      const Supernode n = supernode(s);
      T* x = y + n.first;
      for (std::int64_t c = n.width; c-- > 0;) {
        const T* a = n.block + c * n.leading;
        T sum = x[c];
        for (std::int64_t i = 0; i < n.below; ++i) sum -= times(value(a[n.width + i]), y[n.rows[i]]);
        for (std::int64_t i = c + 1; i < n.width; ++i) sum -= times(value(a[i]), x[i]);
        x[c] = sum;
      }
    }
  }
  using Vector = Eigen::Matrix<T, Eigen::Dynamic, 1>;
  using Part = Eigen::Map<const Vector>;
  /// What of U stands above the blocks comes in runs of neighbouring rows, one for each supernode that it meets: a
  /// third of what would be read is saved where they are not named one by one.
  struct Runs {
    std::vector<std::int32_t> begin;                          ///< of columns
    std::vector<std::pair<std::int32_t, std::int32_t>> runs;  ///< first row, length
    const T* values = nullptr;
    const std::int32_t* pos = nullptr;
  };
  void find_runs() {
    const auto u = lu_.matrixU();
    const std::int32_t *pos = u.m_mapU.outerIndexPtr(), *crd = u.m_mapU.innerIndexPtr();
    runs_ = {};
    runs_.begin.push_back(0), runs_.values = u.m_mapU.valuePtr(), runs_.pos = pos;
    for (std::int64_t j = 0; j < n_; ++j) {
      for (std::int32_t p = pos[j]; p < pos[j + 1]; ++p)
        if (p > pos[j] && crd[p] == crd[p - 1] + 1) ++runs_.runs.back().second;
        else runs_.runs.emplace_back(crd[p], 1);
      runs_.begin.push_back(static_cast<std::int32_t>(runs_.runs.size()));
    }
  }
  /// f(first row, values) for the runs of column j.
  template <class F> void over_runs(std::int64_t j, const F& f) const {
    const T* values = runs_.values + runs_.pos[j];
    for (auto r = static_cast<std::size_t>(runs_.begin[static_cast<std::size_t>(j)]);
         r < static_cast<std::size_t>(runs_.begin[static_cast<std::size_t>(j) + 1]); ++r) {
      const auto [row, length] = runs_.runs[r];
      f(row, Part(values, length));
      values += length;
    }
  }
  void solve_one(const T* b, T* x, Turn turn) const {
    const int *to_row = lu_.rowsPermutation().indices().data(), *to_column = lu_.colsPermutation().indices().data();
    thread_local std::vector<T> kept;
    std::vector<T> own = std::move(kept);
    own.resize(static_cast<std::size_t>(n_));
    T* y = own.data();
    if (turn == Turn::none) {
      for (std::int64_t i = 0; i < n_; ++i) y[to_row[i]] = b[i];
      forward(y), backward(y);
      for (std::int64_t i = 0; i < n_; ++i) x[i] = y[to_column[i]];
    } else {
      for (std::int64_t i = 0; i < n_; ++i) y[to_column[i]] = b[i];
      backward_turned(y, turn == Turn::adjoint), forward_turned(y, turn == Turn::adjoint);
      for (std::int64_t i = 0; i < n_; ++i) x[i] = y[to_row[i]];
    }
    kept = std::move(own);
  }

  Lu lu_;
  const Blocks* blocks_ = nullptr;
  Runs runs_;
  std::int64_t n_ = 0, supernodes_ = 0;
  Pivots pivots_;
  LogDet det_;
};

template <class T> FactorsPtr<T> make_sparse_lu() { return std::make_shared<SparseLu<T>>(); }

}  // namespace strata::solving
