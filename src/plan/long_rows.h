#pragma once
#include <vector>

#include "strata/tensor.h"

namespace strata::planning {

/// Do more than long_sum elements of a sparse tensor meet at one place of a result? `in_output`: per dimension, has the
/// result its index? Of elements that are scattered a sample tells; of batches nothing does.
bool has_long_rows(const Tensor& t, const std::vector<char>& in_output);

}  // namespace strata::planning
