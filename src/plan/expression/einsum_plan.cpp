// Plans of einsums over types: expressions with a dense result.
#include "convert/convert_elements.h"
#include "expr/depth.h"
#include "plan/key.h"
#include "plan/plan_impl.h"

namespace strata {
namespace {

/// What plans are asked for, where it is not what expressions over these do by themselves.
EvaluateOptions options_for(std::span<const TensorType> operands, const planning::DTypes& dtypes, std::size_t rank) {
  DType product = operands[0].dtype;
  for (const auto& t : operands) product = promote(product, t.dtype);
  EvaluateOptions out{.format = conversion::dense_format(static_cast<int>(rank))};
  if (dtypes.output != product) out.result_dtype = dtypes.output;
  if (dtypes.compute != planning::accumulator(product)) out.compute_dtype = dtypes.compute;
  return out;
}

}  // namespace

Plan make_plan(const Einsum& e, std::span<const TensorType> operands, const PlanOptions& options) {
  return on_a_large_stack(stack_for(static_cast<int>(operands.size())), [&] {
    static_cast<void>(planning::checked_shape(e, operands));
    const auto dtypes = planning::dtypes_for(operands, options);
    std::map<std::string, PlanOperand> by_name;
    for (std::size_t k = 0; k < operands.size(); ++k) by_name.emplace(operand_name(k), PlanOperand(operands[k]));
    return make_plan(planning::plain_assignment(e), by_name, options_for(operands, dtypes, e.output.size()));
  });
}

}  // namespace strata
