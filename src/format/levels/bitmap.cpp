#include "format/levels/kinds.h"

namespace strata::levels {

/// Bitmap: one bit per coordinate c (bit c - lo of the parent's row of words); the set bits of parent p are positions
/// pos[p] ...
///
///   pos    parent positions + 1 entries; starts at 0
///   bits   u64 words; every parent starts at a word
///
/// Walked word by word, set bit by set bit.
Cursor open_bitmap(const CursorInputs& in, ir::Expr parent) {
  using namespace ir;
  Cursor cursor;
  const std::string q = in.fresh("p" + in.stem), w = in.fresh("w" + in.stem), bits = in.fresh("bits"),
                    first = in.fresh("f" + in.stem), last = in.fresh("e" + in.stem), c = in.fresh(in.stem);
  const Type word{DType::u64, 1};
  const Expr none = constant(Scalar::zero(DType::u64));
  cursor.before =
      block({let(first, parent * floor_div(in.size + 63, 64)), let(last, var(first) + floor_div(in.size + 63, 64))});
  cursor.state = {{q, in.pos(parent)}, {w, var(first)}, {bits, none}};
  cursor.settle = while_loop(logical_and(eq(var(bits, word), none), lt(var(w), var(last))),
                             block({assign(bits, in.crd(var(w))), assign(w, var(w) + 1)}));
  cursor.valid = ne(var(bits, word), none);
  cursor.enter = let(
      c, in.lo + ((var(w) - 1 - var(first)) * 64 + cast(DType::i64, unary(Op::count_trailing_zeros, var(bits, word)))));
  cursor.coordinate = var(c);
  cursor.position = var(q);
  const Expr one = constant(Scalar::one(DType::u64));
  cursor.advance =
      block({assign(bits, binary(Op::bit_and, var(bits, word), var(bits, word) - one)), assign(q, var(q) + 1)});
  return cursor;
}

/// There is a set bit for each position: the search for the next one needs no end.
Steps steps_of_bitmap(const CursorInputs& in, const ir::Expr& parent) {
  using namespace ir;
  const std::string w = in.fresh("w" + in.stem), bits = in.fresh("bits"), first = in.fresh("f" + in.stem),
                    c = in.fresh(in.stem);
  const Expr rest = var(bits, {DType::u64, 1}), none = constant(Scalar::zero(DType::u64)),
             one = constant(Scalar::one(DType::u64));
  return {.before = let(first, parent * floor_div(in.size + 63, 64)),
          .state = {{w, var(first)}, {bits, none}, {c, in.lo - 1}},
          .step = block({while_loop(eq(rest, none), block({assign(bits, in.crd(var(w))), assign(w, var(w) + 1)})),
                         assign(c, in.lo + ((var(w) - 1 - var(first)) * 64 +
                                            cast(DType::i64, unary(Op::count_trailing_zeros, rest)))),
                         assign(bits, binary(Op::bit_and, rest, rest - one))}),
          .coordinate = var(c)};
}

}  // namespace strata::levels
