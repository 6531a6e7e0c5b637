#pragma once
// Products with a sparse operand that is a sum of parts.
#include "plan/nest/problem.h"
#include "plan/rewrite/steps.h"

namespace strata::direct {

/// Into a dense result: what each part makes, added up. Nothing where the problem is of another kind.
std::optional<Explained> sum_over_parts(const NestProblem& problem);
/// In the operand's pattern: one nest for each part, whose arrays the part of the result shares. `otherwise`: the same
/// in another way, where loops cannot run. Nothing where the problem is of another kind.
std::optional<Explained> part_by_part(const NestProblem& problem, const std::function<Lazy()>& otherwise);

}  // namespace strata::direct
