#pragma once
#include "plan/product.h"

namespace strata::planning {

/// `inner`, with dense operands copied to the start of a cache line at each run where that pays (aligned_copy.h).
/// `inner` itself where no operand is read so.
RunnerPtr align_first(const Product& product, RunnerPtr inner);

}  // namespace strata::planning
