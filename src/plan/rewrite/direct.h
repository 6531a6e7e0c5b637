#pragma once
// Expressions over several sparse operands by generated code: the direct way beside the general path.
#include <map>
#include <optional>
#include <string>

#include "plan/rewrite/steps.h"

namespace strata::direct {

/// The result, where the expression is of a kind that is compiled; otherwise nothing, and `why`. `general`: by the
/// general path, where a guard does not hold. Its text: order of loops, conversions, what each loop runs over.
std::optional<Explained> plan(const Assignment& a, const Operands& operands, const Asked& options,
                              const std::function<Lazy()>& general, std::string& why);

/// Does a product of three or more take less than half of the multiply-adds pair by pair, and so many in one nest of
/// loops that it matters?
bool pays_in_pairs(const Assignment& a, const Operands& operands);

/// The one kernel that computes it, as a C file. Unsupported where there is none, or it takes several.
std::string emit(const Assignment& a, const Operands& operands, const Asked& options);

/// With `options.schedule`: as it says. ScheduleError where that is illegal, Unsupported where the expression does not
/// become one nest of loops.
Explained planned_as_scheduled(const Assignment& a, const Operands& operands, const Asked& options);

}  // namespace strata::direct
