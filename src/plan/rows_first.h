#pragma once
#include "plan/product.h"

namespace strata::planning {

/// `scatter`, the product of a matrix that is stored by the index that is summed, or the same by its rows, converted at
/// each run, where the result has long rows and enough is stored: an element that adds to a row of memory takes two to
/// five times as long as one whose row stands in registers. `scatter` itself where the product is of another kind.
RunnerPtr rows_first(const Product& product, RunnerPtr scatter);

}  // namespace strata::planning
