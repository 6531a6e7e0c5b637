#pragma once
// From the elements of a tree to a tensor.
#include "reference/tree.h"

namespace strata::evaluation {

struct ResultDescription {
  std::vector<int> output;  ///< variable of each dimension
  Shape shape;
  Format format;
  DType dtype;
  Column fill;  ///< of this dtype
};
/// Every element of node `root` that `mask` lets through. TensorError: the format cannot hold them.
Tensor assemble(const Tree& tree, int root, const Mask* mask, const ResultDescription& to);

}  // namespace strata::evaluation
