#include "format/levels/kinds.h"

namespace strata::levels {

/// Delta(b): as compressed, but crd holds column - previous column - 1 in b bits; the column before the first is lo
/// - 1. Bridging slots (of the largest delta, value = fill) lie in range and are walked like any other.
///
///   pos   parent positions + 1 entries; starts at 0, never decreases
///   crd   bit stream, b bits a slot
///
/// Source: Bik, "The Universal Sparse Tensor" (NVIDIA, 2025); Macko, Boža, "MACKO" (2025).
Cursor open_delta(const CursorInputs& in, ir::Expr parent) {
  Cursor cursor;
  cursor.counted = {in.fresh("p" + in.stem), in.pos(parent), in.pos(parent + 1)};
  cursor.position = ir::var(cursor.counted->variable);
  const std::string c = in.fresh(in.stem);
  cursor.state = {{c, in.lo - 1}};
  cursor.enter = ir::assign(c, ir::var(c) + in.crd(cursor.position) + 1);
  cursor.coordinate = ir::var(c);
  return cursor;
}

}  // namespace strata::levels
