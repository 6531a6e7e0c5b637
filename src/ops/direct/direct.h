#pragma once
// Expressions over several sparse operands by generated code: the direct way beside the general path.
#include <map>
#include <optional>
#include <string>

#include "strata/evaluate.h"

namespace strata::direct {

/// The result, where the expression is of a kind that is compiled; otherwise nothing, and `why`.
std::optional<Tensor> evaluate(const Assignment& a, const std::map<std::string, Tensor>& operands,
                               const EvaluateOptions& options, std::string& why);
/// How it would be computed: order of loops, conversions, what each loop runs over. Nothing where it is not, and `why`.
std::optional<std::string> explain(const Assignment& a, const std::map<std::string, Tensor>& operands,
                                   const EvaluateOptions& options, std::string& why);

/// Does a product of three or more take less than half of the multiply-adds pair by pair, and so many in one nest of
/// loops that it matters?
bool pays_in_pairs(const Assignment& a, const std::map<std::string, Tensor>& operands);

/// The one kernel that computes it, as a C file. Unsupported where there is none, or it takes several.
std::string emit(const Assignment& a, const std::map<std::string, Tensor>& operands, const EvaluateOptions& options);

/// With `options.schedule`: as it says. ScheduleError where that is illegal, Unsupported where the expression does not
/// become one nest of loops.
Tensor evaluate_scheduled(const Assignment& a, const std::map<std::string, Tensor>& operands,
                          const EvaluateOptions& options);
std::string explain_scheduled(const Assignment& a, const std::map<std::string, Tensor>& operands,
                              const EvaluateOptions& options);

}  // namespace strata::direct
