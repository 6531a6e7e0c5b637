#include "format/levels/kinds.h"

namespace strata::levels {

/// Padded(k): k slots per parent position, the unused ones last with a crd of all ones (which is no coordinate: outside
/// the level's range, so the walk ends there).
///
///   crd   k entries per parent position
///
/// Source: ELLPACK; Grimes, Kincaid, Young, "ITPACK 2.0 user's guide", 1979.
Cursor open_padded(const CursorInputs& in, ir::Expr parent) {
  Cursor cursor;
  const std::string p = in.fresh("p" + in.stem), c = in.fresh(in.stem), first = in.fresh("f" + in.stem);
  cursor.before = ir::let(first, parent * in.extent);
  cursor.counted = {p, ir::var(first), ir::var(first) + in.extent};
  cursor.position = ir::var(p);
  cursor.enter = ir::let(c, in.crd(cursor.position));
  cursor.coordinate = ir::var(c);
  // Signed all ones read as -1, unsigned ones as a value beyond every extent: one range test tells both.
  cursor.used = ir::logical_and(ir::ge(cursor.coordinate, in.lo), ir::lt(cursor.coordinate, in.lo + in.size));
  return cursor;
}

}  // namespace strata::levels
