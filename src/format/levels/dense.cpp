#include "format/levels/kinds.h"

namespace strata::levels {

/// Dense: every coordinate c in [lo, lo + size) is stored, at position parent * size + (c - lo). No arrays.
///
/// Source: Kjolstad, Kamil, Chou, Lugato, Amarasinghe, "The Tensor Algebra Compiler", OOPSLA 2017.
Cursor open_dense(const CursorInputs& in, ir::Expr parent, const Window& window) {
  Cursor cursor;
  cursor.counted = counted_in_window(in, window);
  cursor.coordinate = ir::var(cursor.counted->variable);
  const auto place = [parent, lo = in.lo, size = in.size](const ir::Expr& c) { return parent * size + (c - lo); };
  cursor.position = place(cursor.coordinate);
  cursor.locate = [place](const ir::Expr& c) { return Cursor::Located{nullptr, place(c), nullptr}; };
  return cursor;
}

}  // namespace strata::levels
