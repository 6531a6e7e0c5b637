#pragma once
#include "strata/evaluate_options.h"

namespace strata::evaluation {

/// The general path: slow, and right for every expression; what all other ways are checked by. `options.format` is
/// given.
Tensor reference(const Assignment& a, const std::map<std::string, Tensor>& operands, const EvaluateOptions& options);

}  // namespace strata::evaluation
