#pragma once
#include <map>
#include <optional>
#include <string>

#include "strata/evaluate.h"

namespace strata::direct {

/// e(j) = d(j) + s(j), where s is a result of a step before that nobody else has: its memory becomes e. Nothing where
/// that cannot be done. `operands` are those of the assignment.
std::optional<Tensor> added_in_place(const Assignment& a, std::map<std::string, Tensor>& operands,
                                     const EvaluateOptions& options);

}  // namespace strata::direct
