#include "format/levels/kinds.h"

namespace strata::levels {

/// Structured(n): exactly n of the m coordinates of `e % m` are stored, at positions parent * n .. parent * n + n - 1.
/// Pads, where a group has fewer elements, hold the fill at distinct coordinates and are walked like any other.
///
///   crd   bit stream of n entries per parent position
///
/// Source: Mishra et al., "Accelerating Sparse Deep Neural Networks" (NVIDIA, 2021): 2:4.
Cursor open_structured(const CursorInputs& in, ir::Expr parent) {
  Cursor cursor;
  const std::string s = in.fresh("s" + in.stem), c = in.fresh(in.stem);
  cursor.counted = {s, ir::int_const(0), ir::int_const(in.level.arg)};
  cursor.position = parent * in.level.arg + ir::var(s);
  cursor.enter = ir::let(c, in.crd(cursor.position));
  cursor.coordinate = ir::var(c);
  return cursor;
}

}  // namespace strata::levels
