#pragma once
// What comparing whole tensors is made of.
#include "tensor/tensor_impl.h"

namespace strata {

/// Do the arrays of two parts of one format and shape name the same slots, in the same order?
bool same_levels(const Part& a, const Part& b);

}  // namespace strata
