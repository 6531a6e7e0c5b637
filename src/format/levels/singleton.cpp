#include "format/levels/kinds.h"

namespace strata::levels {

/// Singleton: position p of the parent owns exactly crd[p]: a loop of one iteration, which the lowering writes without
/// a loop.
///
///   crd   one entry per parent position; each in [lo, lo + size)
///
/// Source: Chou, Kjolstad, Amarasinghe, "Format Abstraction for Sparse Tensor Algebra Compilers", OOPSLA 2018.
Cursor open_singleton(const CursorInputs& in, ir::Expr parent) {
  Cursor cursor;
  cursor.counted = {in.fresh("p" + in.stem), parent, parent + 1};
  cursor.position = ir::var(cursor.counted->variable);
  const std::string c = in.fresh(in.stem);
  cursor.enter = ir::let(c, in.crd(cursor.position));
  cursor.coordinate = ir::var(c);
  return cursor;
}

}  // namespace strata::levels
