#pragma once
// What a tensor stores, as ones: a mask that is a factor.
#include <map>
#include <string>
#include <vector>

#include "plan/asked.h"

namespace strata::direct {

/// 1 where this tensor of one part stores something: one value for all.
Tensor ones_of(const Tensor& t, DType dtype);
Lazy ones_of(const Lazy& t, DType dtype);
/// Every element that the format has room for is a stored one, and there once.
bool stores_all(const Format& f);
/// So it is, or fill-in, which is a value as every other in a product, can stand for elements: in blocks and diagonals.
bool stores_each_once(const Format& f);
/// May ones where this mask stores something, as a factor, stand for it? (Not for its complement.)
bool is_factor(const Asked& options, std::size_t rank);
/// These ones, a new operand.
Expression mask_as_factor(const Lazy& mask, DType dtype, const std::vector<std::string>& indices, Operands& operands);

}  // namespace strata::direct
