#pragma once
// What is known of a result before any element is looked at.
#include "plan/asked.h"

namespace strata::evaluation {

/// The type that the general path gives it. ExpressionError: what has no meaning in a semiring, the largest of nothing.
TensorType type_of_result(const Assignment& a, const std::map<std::string, TensorType>& operands,
                          const planning::Asked& asked);

}  // namespace strata::evaluation
