#pragma once
// Sums of quotients whose denominator does not depend on what is summed: softmax with an implied sum.
#include <map>
#include <optional>
#include <string>

#include "plan/asked.h"

namespace strata::direct {

/// Y(i,k) = W(i,j) * V(j,k) / sum(j, W(i,j)) as sum(j, W * V) / sum(j, W). Where a row of W is empty each term, present
/// or not, is 0 / 0: the loops of the first would run over all places to add up NaN. Both have the same values but for
/// rounding where no result is infinite. Dense results of float32 and float64; nothing where the expression is of
/// another kind.
std::optional<Assignment> quotient_of_sums(const Assignment& a, const Operands& operands, const Asked& options);

/// Of dense float32 or float64: may it differ from the sum of quotients? (A sum over 0 is infinite; absent terms over 0
/// are NaN.)
bool holds_infinity(const Tensor& t);

}  // namespace strata::direct
