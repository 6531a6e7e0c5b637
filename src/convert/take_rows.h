#pragma once
// Rows and columns of CSR (columns and rows of CSC), and rows of sorted COO, in any order and as often as they are
// listed: counted, and then copied.
#include <span>

#include "convert/slice_rows.h"
#include "tensor/tensor_impl.h"

namespace strata::slicing {

/// Can an index dtype hold so much?
bool holds(DType index, i64 largest);

/// Whole rows of (row : dense, column : compressed), one after the other. `dim` is the dimension of the rows.
Tensor take_rows(const Tensor& t, std::size_t dim, std::span<const i64> coordinates);

/// Its columns: each row in order again, where the coordinates are not. `outer` is the dimension of the rows.
Tensor take_columns(const Tensor& t, std::size_t outer, std::size_t dim, std::span<const i64> coordinates);

/// COO whose first level ascends along this dimension: its rows are found by searching.
bool is_listed_along(const Tensor& t, std::size_t dim);

/// Rows that follow each other, which share the tensor's arrays but for their own coordinates.
Tensor listed_neighbours(const Tensor& t, std::size_t dim, i64 begin, i64 count);

/// Any rows.
Tensor take_listed(const Tensor& t, std::size_t dim, std::span<const i64> coordinates);

}  // namespace strata::slicing
