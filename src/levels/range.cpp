#include "levels/kinds.h"

namespace strata::levels {

/// Range: a run of slots, one per coordinate of its dimension, at position parent * size + (c - lo). An earlier level
/// holds a sum or difference with this dimension, so that only a part of the run lies in the matrix: whoever walks
/// clips by the dimensions' bounds (the window), the rest are outside slots. No arrays.
///
/// Source: Bik, "The Universal Sparse Tensor" (NVIDIA, 2025); the diagonals of DIA.
Cursor open_range(const CursorInputs& in, ir::Expr parent, const Window& window) {
  return open_dense(in, std::move(parent), window);
}

}  // namespace strata::levels
