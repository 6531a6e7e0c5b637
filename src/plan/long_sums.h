#pragma once
#include "plan/product.h"

namespace strata::planning {

/// `inner`, which keeps sums of f32 or c64 in that; and where many elements meet at one place of the result, as in a
/// full row, the same product with sums in f64 or c128, compiled when it is first needed. `inner` itself where no sum
/// is so long, or it keeps their digits.
RunnerPtr keep_digits(const Product& product, RunnerPtr inner);

/// The dtype that long sums of such values are kept in.
DType wide_sums(DType compute);

/// Elements from which on sums are long: fewer lose at most some 200 units in the last place (of random numbers 5).
inline constexpr std::int64_t long_sum = 2048;

}  // namespace strata::planning
