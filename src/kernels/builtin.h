#pragma once
// The hand-written kernels, one line each; the table that joins them is in registry.cpp.
#include "kernels/registry.h"

namespace strata::kernels {

extern const BuiltinKernel csr_kernel, coo_kernel, bitmap_kernel, bsr_kernel, tiled_csr_kernel, dia_kernel,
    row_sums_kernel, mkl_kernel;

}  // namespace strata::kernels
