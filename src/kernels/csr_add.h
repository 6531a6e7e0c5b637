#pragma once
#include <vector>

#include "strata/tensor.h"

namespace strata::kernels {

/// Has this processor the instructions for matrices of this type (CSR or CSC of f32 or f64, positions in i32 or i64)?
bool can_csr_add(const TensorType& t);
/// terms[0] + terms[1] - terms[2] + ..., all of one such type; `minus`: per term, never the first.
Tensor csr_add(std::vector<const Tensor*> terms, const std::vector<char>& minus);

}  // namespace strata::kernels
