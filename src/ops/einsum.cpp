#include "strata/ops.h"

namespace strata {

Tensor einsum(std::string_view text, std::span<const Tensor> operands, const PlanOptions& options) {
  std::vector<int> ranks;
  std::vector<TensorType> types;
  for (const auto& t : operands) {
    ranks.push_back(t.rank());
    types.push_back(t.type());
  }
  return make_plan(parse_einsum(text, ranks), types, options).run(operands);
}

}  // namespace strata
