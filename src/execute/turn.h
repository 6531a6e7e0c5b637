#pragma once
#include "execute/dense_view.h"

namespace strata::execution {

/// to = from, of one dtype and shape, where each lies side by side along a dimension of its own, as a matrix and its
/// transpose do: in tiles, so that each line of memory is fetched once. False, having done nothing, where they do not.
bool turn(const DenseView& to, const DenseView& from);

}  // namespace strata::execution
