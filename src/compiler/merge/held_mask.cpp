// A sparse mask beside a workspace: its row as bits, so that every inner row needs no merge with it.
#include "compiler/merge/nest.h"

namespace strata::merging {

bool Nest::can_hold_mask() const {
  if (workspace_ < 0 || in_.mask < 0 || operand(in_.mask).dense) return false;
  const auto& vars = operand(in_.mask).vars;
  const int last = static_cast<int>(vars.size()) - 1;
  return vars.back() == workspace_ && kind(in_.mask, last) == LevelKind::compressed &&
         (last == 0 || vars[static_cast<std::size_t>(last) - 1] < drained_);
}

Stmt Nest::with_mask_held(const Place& at, Stmt loops) {
  Stmts out;
  const int bits = buffer(BufferBinding::row_mask, -1, 0, "row_mask", DType::i64, true);
  const Cursor c = open(workspace_, in_.mask, at, out);
  const auto each = [&](const auto& make) {
    const std::string p = names_.fresh(c.p), at_mask = names_.fresh("masked");
    out.push_back(
        ir::loop(p, c.begin, c.end, ir::block({ir::let(at_mask, crd(c, ir::var(p))), make(ir::var(at_mask))})));
  };
  each([&](const Expr& coordinate) {
    const Expr word = shift_right(coordinate, 6);
    return ir::store(params_.param(bits), bits, word,
                     ir::binary(ir::Op::bit_or, ir::load(params_.param(bits), bits, word), bit_of(coordinate)));
  });
  out.push_back(std::move(loops));
  each([&](const Expr& coordinate) {
    return ir::store(params_.param(bits), bits, shift_right(coordinate, 6), ir::int_const(0));
  });
  return ir::block(std::move(out));
}

Expr Nest::held_mask(const Expr& coordinate) {
  const int bits = buffer(BufferBinding::row_mask, -1, 0, "row_mask", DType::i64, true);
  const Expr bit =
      ir::binary(ir::Op::bit_and, ir::load(params_.param(bits), bits, shift_right(coordinate, 6)), bit_of(coordinate));
  return in_.complement ? ir::eq(bit, ir::int_const(0)) : ir::ne(bit, ir::int_const(0));
}

}  // namespace strata::merging
