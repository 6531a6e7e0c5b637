#pragma once
// What comparing whole tensors is made of.
#include <utility>

#include "tensor/tensor_impl.h"

namespace strata {

/// Do the arrays of two parts of one format and shape name the same slots, in the same order?
bool same_levels(const Part& a, const Part& b);
/// Has a tensor an array with one of the bytes [first, second)?
bool touches(const Tensor& t, std::pair<const char*, const char*> range);

}  // namespace strata
