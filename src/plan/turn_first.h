#pragma once
#include "plan/product.h"

namespace strata::planning {

/// A product of a sparse and a dense matrix whose dense one, or whose result, lies the other way than loops over the
/// sparse one want: they take a row of the dense one for each stored element, and add it to one of the result. (X @ S,
/// 256 rows by 4096 x 4096, 10 % full: 6,300 against 77 ms.) Both are turned then, at each run; X may have more
/// dimensions in front. Null where they lie well, where they are small, or where nothing computes the turned product
/// directly.
RunnerPtr turn_first(const Product& product, std::vector<Report>& reports);

}  // namespace strata::planning
