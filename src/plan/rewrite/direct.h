#pragma once
// Expressions over several sparse operands by generated code: the direct way beside the general path.
#include <map>
#include <optional>
#include <string>

#include "ir/ir.h"
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
/// How many coordinates each index must have for that text.
std::int64_t least_extent(const Assignment& a, const Operands& operands, const Asked& options);
/// The kernels that the expression takes where it is one nest of loops: to be compiled ahead of time.
std::vector<ir::Function> functions_of(const Assignment& a, const Operands& operands, const Asked& options);
/// A main() for that file, which calls its function, `name`, on these tensors: operands like `tiny`, by position.
/// Unsupported.
std::string emit_main(const Assignment& a, const Operands& operands, const Operands& tiny,
                      std::span<const Tensor> tensors, const Asked& options, const std::string& name,
                      const Tensor& expected);

/// With `options.schedule`: as it says. ScheduleError where that is illegal, Unsupported where the expression does not
/// become one nest of loops.
Explained planned_as_scheduled(const Assignment& a, const Operands& operands, const Asked& options);

}  // namespace strata::direct
