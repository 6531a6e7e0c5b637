#pragma once
// Sums in the slots of a pattern want rows of dense operands: what lies across is copied once, instead of being
// gathered for every slot.
#include "plan/nest/loops.h"

namespace strata::direct {

/// The problem of these loops with such copies, where they pay; otherwise nothing.
std::optional<NestProblem> with_rows_together(const NestProblem& problem, const Loops& loops);

}  // namespace strata::direct
