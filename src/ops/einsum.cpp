#include <algorithm>

#include "strata/evaluate.h"
#include "strata/ops.h"

namespace strata {

Tensor einsum(std::string_view text, std::span<const Tensor> operands, const PlanOptions& options) {
  std::vector<int> ranks;
  std::vector<TensorType> types;
  for (const auto& t : operands) {
    ranks.push_back(t.rank());
    types.push_back(t.type());
  }
  const Einsum e = parse_einsum(text, ranks);
  const auto sparse = [](const Tensor& t) { return !t.format().is_all_dense(); };
  if (std::count_if(operands.begin(), operands.end(), sparse) > 1) return evaluate(e, operands, {.dtype = options.output_dtype});
  return make_plan(e, types, options).run(operands);
}

}  // namespace strata
