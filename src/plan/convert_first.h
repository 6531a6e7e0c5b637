#pragma once
#include "plan/product.h"

namespace strata::planning {

/// Makes the operands marked in `to_dense` row-major dense when the plan runs, then computes with the best candidate
/// for that. Null where a dense copy would be too large; `why` then says so.
RunnerPtr convert_first(const Product& product, const std::vector<char>& to_dense, std::vector<Report>& reports,
                        int depth, std::string& why);

}  // namespace strata::planning
