#pragma once
#include "plan/product.h"

namespace strata::planning {

/// A dense tensor with its dimensions in another order, "ij->ji", is copied, tile by tile. Null where the product is
/// anything else.
RunnerPtr choose_copy(const Product& product, std::vector<Report>& reports, int depth);

}  // namespace strata::planning
