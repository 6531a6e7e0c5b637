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
  const Steps steps = steps_of_delta(in, cursor.position);
  cursor.state = steps.state;
  cursor.enter = steps.step;
  cursor.coordinate = steps.coordinate;
  return cursor;
}

Steps steps_of_delta(const CursorInputs& in, const ir::Expr& position) {
  const std::string c = in.fresh(in.stem);
  return {.before = nullptr,
          .state = {{c, in.lo - 1}},
          .step = ir::assign(c, ir::var(c) + in.crd(position) + 1),
          .coordinate = ir::var(c)};
}

}  // namespace strata::levels
