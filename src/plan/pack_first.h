#pragma once
#include "plan/product.h"

namespace strata::planning {

/// Compiled code for a product in the pattern of an operand. Dense operands that move with a stride along the summed
/// index (B in S(i,j) * A(i,k) * B(k,j), row-major) are copied at each run so that it is contiguous, where enough is
/// stored to pay for that. Null where the lowering refuses; `why` then says why.
RunnerPtr pack_first(const Product& product, std::string& why);

}  // namespace strata::planning
