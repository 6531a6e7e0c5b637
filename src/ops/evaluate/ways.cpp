// Where no plan serves: the other ways to a result, in the order tried.
#include "ops/direct/direct.h"
#include "ops/evaluate/block_product.h"
#include "ops/evaluate/conversion.h"
#include "ops/evaluate/front.h"
#include "ops/evaluate/matrix_sum.h"
#include "ops/reference/reference.h"
#include "strata/settings.h"

namespace strata::evaluation {

const char* hand_written_refusal(const Assignment& a, const EvaluateOptions& options) {
  if (a.accumulate || options.mask || options.schedule || options.semiring != Semiring::plus_times)
    return "there is a mask, a schedule, a semiring or something to add to";
  const std::string& engine = settings().engine;
  return engine == "jit" || engine == "interpreter" ? "settings().engine asks for generated code" : nullptr;
}

Tensor evaluate_sparse(const Assignment& a, const std::map<std::string, Tensor>& operands,
                       const EvaluateOptions& options) {
  if (options.general) return reference(a, operands, options);
  if (options.schedule) return direct::evaluate_scheduled(a, operands, options);
  if (auto result = converted(a, operands, options)) return *result;
  if (auto result = block_product(a, operands, options)) return *result;
  if (auto result = matrix_sum(a, operands, options)) return *result;
  std::string why;
  if (auto result = direct::evaluate(a, operands, options, why)) return *result;
  return reference(a, operands, options);
}

}  // namespace strata::evaluation
