#include "strata/evaluate.h"
#include "strata/ops.h"

namespace strata {

Tensor einsum(std::string_view text, std::span<const Tensor> operands, const PlanOptions& options) {
  return einsum(text, operands, EvaluateOptions{.dtype = options.output_dtype, .compute_dtype = options.compute_dtype});
}

}  // namespace strata
