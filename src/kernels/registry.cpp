#include "kernels/registry.h"

#include "kernels/builtin.h"

namespace strata::kernels {

std::span<const BuiltinKernel> builtin_kernels() {
  static const BuiltinKernel table[] = {mkl_kernel, csr_kernel,    bsr_kernel, tiled_csr_kernel,
                                        dia_kernel, bitmap_kernel, coo_kernel, row_sums_kernel};
  return table;
}

}  // namespace strata::kernels
