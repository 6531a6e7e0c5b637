#pragma once
// Of many elements that are added one after the other float32 keeps half the digits: a full row of four million times
// 0.1 was off by 2 %. Most matrices have no such row, and sums in float64 are slower: what is stored decides.
#include <optional>
#include <vector>

#include "plan/product.h"

namespace strata::planning {

/// Elements from which on sums are long: fewer lose at most some 200 units in the last place (of random numbers 5).
inline constexpr std::int64_t long_sum = 2048;

/// Do more than long_sum elements of a sparse tensor meet at one place of a result? `in_output`: per dimension, has the
/// result its index? Of elements that are scattered a sample tells; of batches nothing does.
bool has_long_rows(const Tensor& t, const std::vector<char>& in_output);

/// The sparse operand of a product whose rows may be so long that sums in the dtype that the product computes in would
/// lose digits.
struct SummedOperand {
  std::size_t operand;
  std::vector<char> in_output;  ///< per dimension of it
};
std::optional<SummedOperand> may_have_long_rows(const Product& product);

}  // namespace strata::planning
