#include "format/levels/kinds.h"

namespace strata::levels {

/// Compressed: position p of the parent owns crd[pos[p]] .. crd[pos[p + 1] - 1].
///
///   pos   parent positions + 1 entries; starts at 0, never decreases
///   crd   pos.back() entries; each in [lo, lo + size)
///
/// Source: Chou, Kjolstad, Amarasinghe, "Format Abstraction for Sparse Tensor Algebra Compilers", OOPSLA 2018.
Cursor open_compressed(const CursorInputs& in, ir::Expr parent) {
  Cursor cursor;
  cursor.counted = {in.fresh("p" + in.stem), in.pos(parent), in.pos(parent + 1)};
  cursor.position = ir::var(cursor.counted->variable);
  const std::string c = in.fresh(in.stem);
  cursor.enter = ir::let(c, in.crd(cursor.position));
  cursor.coordinate = ir::var(c);
  if (in.level.ordered) cursor.at = in.crd;
  return cursor;
}

}  // namespace strata::levels
