#pragma once
// Loops want rows of dense operands: what lies across is copied once, instead of being gathered for every slot of a
// pattern, or for every column of a dense result.
#include "plan/nest/loops.h"

namespace strata::direct {

/// The problem of these loops with such copies, where they pay; otherwise nothing.
std::optional<NestProblem> with_rows_together(const NestProblem& problem, const Loops& loops);

/// C(k,j) = sum(i, X(k,i) * A(i,j)) as C(j,k), over copies that lie along k: each element of A meets a vector then, and
/// not one value after the other. `turned`: dimension d of the result is dimension turned[d] of that problem's; empty
/// where A has not the last index of the result, whose rows lie along k then. Nothing where there is little to do.
std::optional<NestProblem> with_columns_last(const NestProblem& problem, const Loops& loops, std::vector<int>& turned);

}  // namespace strata::direct
