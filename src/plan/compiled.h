#pragma once
#include "plan/product.h"

namespace strata::planning {

/// Lowers the product with operand `driver` walked and all others read densely, and compiles it (or takes the interpreter, where
/// settings say so or there is no compiler). Null where the lowering refuses; `why` then says why.
RunnerPtr compile_product(const Product& product, int driver, std::string& why);

}  // namespace strata::planning
