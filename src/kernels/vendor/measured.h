#pragma once
// The cost table between MKL and our own kernels for the same tensor.
#include <cstdint>

#include "strata/dtype.h"

namespace strata::kernels::mkl {

enum class MatrixStorage : std::uint8_t { rows, columns, blocks };

/// How many times as fast as our own kernel MKL is on one thread for matrices stored so, times a vector or a matrix; 0:
/// not measured.
double measured_gain(MatrixStorage storage, bool vector, DType dtype);

}  // namespace strata::kernels::mkl
