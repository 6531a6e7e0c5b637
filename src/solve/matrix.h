#pragma once
// The forms that factorizations read: columns (CSC with indices of 32 bits), or a dense array.
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "solve/scalar.h"
#include "strata/solve.h"

namespace strata::solving {

/// One matrix. Sparse: pos, crd and values, rows ascending in each column, none twice. Dense: row-major, and no pos.
template <class T> struct Matrix {
  std::int64_t rows = 0, columns = 0;
  const std::int32_t *pos = nullptr, *crd = nullptr;
  const T* values = nullptr;
  std::shared_ptr<const void> owner = {};

  bool is_dense() const { return pos == nullptr; }
  std::int64_t stored() const { return is_dense() ? rows * columns : pos[columns]; }
};

/// Memory of a matrix that is made, to be its owner.
template <class T> struct MatrixArrays {
  std::vector<std::int32_t> pos, crd;
  std::vector<T> values;
};

/// f(i, j, value) for every stored element, column by column (dense: row by row).
template <class T, class F> void for_each(const Matrix<T>& a, F&& f) {
  if (a.is_dense()) {
    for (std::int64_t i = 0; i < a.rows; ++i)
      for (std::int64_t j = 0; j < a.columns; ++j) f(i, j, a.values[i * a.columns + j]);
    return;
  }
  for (std::int64_t j = 0; j < a.columns; ++j)
    for (std::int32_t p = a.pos[j]; p < a.pos[j + 1]; ++p) f(std::int64_t{a.crd[p]}, j, a.values[p]);
}

/// The matrices of a batch in T, row-major over the leading dimensions; converted where a's format is another.
template <class T> std::vector<Matrix<T>> matrices_of(const Tensor& a);
/// Rows as columns, conjugated.
template <class T> Matrix<T> adjoint_of(const Matrix<T>& a);
/// Do both store the same places?
template <class T> bool same_places(const Matrix<T>& a, const Matrix<T>& b);
/// A CSC tensor over vectors that are moved in.
template <class T>
Tensor csc_tensor(std::int64_t rows, std::int64_t columns, std::vector<std::int32_t> pos, std::vector<std::int32_t> crd,
                  std::vector<T> values);

/// Right-hand sides, one after the other: column c of batch k stands at (k * columns + c) * rows.
template <class T> struct Sides {
  std::int64_t batches = 1, rows = 0, columns = 1;
  std::vector<T> values;
  T* column(std::int64_t batch, std::int64_t c) { return values.data() + (batch * columns + c) * rows; }
};
/// Of a dense or sparse tensor of shape batch + (rows,) or batch + (rows, columns).
template <class T> Sides<T> sides_of(const Tensor& b, std::int64_t batches, bool vector);
/// The same back as a row-major tensor.
template <class T> Tensor tensor_of(const Sides<T>& x, const Shape& shape);

}  // namespace strata::solving
