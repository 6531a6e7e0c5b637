#pragma once
// What a mask lets through.
#include "plan/asked.h"

namespace strata::evaluation {

/// The options with a mask that counts by what it stores alone: of a boolean one what holds its fill is gone, and one
/// that is true where it is absent has become the complement of its false elements. TensorError: a dense mask that is
/// not boolean.
Asked with_true_mask(Asked options);

}  // namespace strata::evaluation
