#pragma once
#include "plan/product.h"

namespace strata::planning {

/// A product in the pattern of an operand whose stored elements choose long rows of a dense one (V in S(i,j) * U(i,k) *
/// V(j,k)): where those rows are more than a core's second level holds and are chosen from everywhere, the sum goes
/// panel by panel, and what a panel needs of V is packed. `inner` where it never pays.
RunnerPtr sum_in_panels(const Product& product, RunnerPtr inner);

}  // namespace strata::planning
