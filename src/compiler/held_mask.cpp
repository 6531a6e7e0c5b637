// A sparse mask beside a workspace: its row as bits, so that every inner row needs no merge with it.
#include "compiler/assembler.h"

namespace strata::merging {

bool Assembler::can_hold_mask() const {
  if (workspace_ < 0 || in_.mask < 0 || operand(in_.mask).dense) return false;
  const auto& vars = operand(in_.mask).vars;
  const int last = static_cast<int>(vars.size()) - 1;
  return vars.back() == workspace_ && kind(in_.mask, last) != LevelKind::dense &&
         (last == 0 || vars[static_cast<std::size_t>(last) - 1] < drained_);
}

Stmt Assembler::with_mask_held(const Place& at, Stmt loops) {
  Stmts out;
  const int bits = buffer(BufferBinding::row_mask, -1, 0, "row_mask", DType::i64, true);
  Fiber spread = open(workspace_, in_.mask, at, out);
  leave_out_unused(workspace_, spread, out);
  const auto each = [&](const Fiber& c, const auto& make) {
    const std::string p = c.steps ? c.p : names_.fresh(c.p), at_mask = names_.fresh("masked");
    Stmts body;
    if (c.steps) {
      for (const auto& state : c.steps->state) out.push_back(ir::declare(state.name, state.initial));
      body.push_back(c.steps->step);
    }
    body.push_back(ir::let(at_mask, c.steps ? c.steps->coordinate : crd(c, ir::var(p))));
    body.push_back(make(ir::var(at_mask)));
    out.push_back(ir::loop(p, c.begin, c.end, ir::block(std::move(body))));
  };
  each(spread, [&](const Expr& coordinate) {
    const Expr word = shift_right(coordinate, 6);
    return ir::store(params_.param(bits), bits, word,
                     ir::binary(ir::Op::bit_or, ir::load(params_.param(bits), bits, word), bit_of(coordinate)));
  });
  out.push_back(std::move(loops));
  const Fiber wipe = spread.steps ? open(workspace_, in_.mask, at, out) : spread;  // with state of its own
  each(wipe, [&](const Expr& coordinate) {
    return ir::store(params_.param(bits), bits, shift_right(coordinate, 6), ir::int_const(0));
  });
  return ir::block(std::move(out));
}

Expr Assembler::held_mask(const Expr& coordinate) {
  const int bits = buffer(BufferBinding::row_mask, -1, 0, "row_mask", DType::i64, true);
  const Expr bit =
      ir::binary(ir::Op::bit_and, ir::load(params_.param(bits), bits, shift_right(coordinate, 6)), bit_of(coordinate));
  return in_.complement ? ir::eq(bit, ir::int_const(0)) : ir::ne(bit, ir::int_const(0));
}

}  // namespace strata::merging
