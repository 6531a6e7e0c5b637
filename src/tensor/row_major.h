#pragma once
#include "tensor/tensor_impl.h"

namespace strata {

/// Strides of dense memory, row by row.
std::vector<std::int64_t> row_major_strides(std::span<const std::int64_t> shape);
/// A dense tensor, row by row, whose values are not set.
Tensor empty_dense(DType dtype, const Shape& shape);
/// One block of dense memory, row by row?
bool is_row_major(const Tensor& t);

}  // namespace strata
