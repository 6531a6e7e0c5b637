#pragma once
#include "plan/product.h"

namespace strata::planning {

/// A product in the pattern of an operand, as compile_product makes it; and, for patterns whose rows come in blocks with the same
/// coordinates (pruned weights), a second kernel that computes such rows together, where there is something to share. Which one
/// runs, a sample of rows tells at each run. Null where the lowering refuses; `why` then says why.
RunnerPtr compile_in_pattern(const Product& product, std::string& why);

/// Do the rows of this operand mostly come in blocks of four or more with the same coordinates? Of products that know what
/// to do with that; otherwise false.
bool rows_alike(const Product& product, const Part& part);

}  // namespace strata::planning
