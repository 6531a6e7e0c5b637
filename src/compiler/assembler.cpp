// Levels of the result that are appended to, and places in its memory where values meet.
#include "compiler/assembler.h"

namespace strata::merging {

Assembler::Assembler(const Input& input) : NumericPhase(input) { holds_mask_ = can_hold_mask(); }

void Assembler::meet(int b, const Expr& index, const Value& value, Stmts& out) {
  const std::string place = names_.fresh("place");
  out.push_back(ir::let(place, index));
  // Where summed variables stand inside alone, or nowhere, a place is met once. Any of several values may stay: the
  // last one.
  Value all = value;
  if ((inverted_ || in_.joins) && in_.combine != Combine::first) {
    const Value before = arithmetic_.load(params_.param(b), b, in_.compute, ir::var(place), value.lanes(), false);
    const bool chooses = in_.combine == Combine::minimum || in_.combine == Combine::maximum;
    // Read in any case: inside a choice compilers would jump around it.
    all = combine(chooses ? named("before", before, out) : before, value);
  }
  out.push_back(arithmetic_.store(params_.param(b), b, in_.compute, ir::var(place), all));
}

void Assembler::append(int level, const Expr& coordinate, const Value* value, Stmts& out) {
  const std::string l = std::to_string(level);
  const Expr n = size(level);
  const int c = buffer(BufferBinding::out_crd, -1, level, "out_crd" + l, in_.crd, true);
  const int v = buffer(BufferBinding::output, -1, 0, "out_values", arithmetic_.part(), true);
  Stmts s;
  s.push_back(ir::store(params_.param(c), c, n, ir::cast(in_.crd, coordinate)));
  s.push_back(arithmetic_.store(params_.param(v), v, in_.compute, n, *value));
  out.push_back(
      ir::branch(ir::lt(n, scalar(ScalarBinding::capacity, -1, level, "capacity" + l)), ir::block(std::move(s))));
  out.push_back(ir::assign("n" + l, n + 1));
}

Expr Assembler::block_size() {
  if (in_.blocks) return ir::int_const(in_.blocks.size());
  Expr out = ir::int_const(1);
  for (int v : tail_) out = out * extent(v);
  return out;
}

void Assembler::append_block(int var, const Place& at, const Expr& coordinate, Stmts& out) {
  const int last = static_cast<int>(levels_.size()) - 1;
  const std::string l = std::to_string(last);
  const Expr n = size(last), filled = ir::var("filled", {DType::boolean, 1});
  const int c = buffer(BufferBinding::out_crd, -1, last, "out_crd" + l, in_.crd, true);
  const int b = buffer(BufferBinding::output, -1, 0, "out_values", arithmetic_.part(), true);
  Stmts fits;
  fits.push_back(ir::let("block", n * block_size()));
  const std::string t = names_.fresh("t");
  fits.push_back(ir::loop(
      t, ir::var("block"), ir::var("block") + block_size(),
      arithmetic_.store(params_.param(b), b, in_.compute, ir::var(t), constant(inverted_ ? in_.absent : in_.fill))));
  fits.push_back(emit(var, at));
  fits.push_back(ir::branch(filled, ir::store(params_.param(c), c, n, ir::cast(in_.crd, coordinate))));
  out.push_back(ir::declare("filled", ir::bool_const(false)));
  // What does not fit counts: there will be a second run with more room.
  out.push_back(ir::branch(ir::lt(n, scalar(ScalarBinding::capacity, -1, last, "capacity" + l)),
                           ir::block(std::move(fits)), ir::assign("filled", ir::bool_const(true))));
  out.push_back(ir::branch(filled, ir::assign("n" + l, n + 1)));
}

void Assembler::append_parent(int level, const Expr& coordinate, const Expr& start, Stmts& out) {
  if (is_numeric()) return check_parent(level, coordinate, start, out);
  const std::string l = std::to_string(level);
  const Expr children = size(level + 1), n = size(level);
  if (level == 0 && in_.dense_top) {
    const int b = buffer(BufferBinding::out_counts, -1, 0, "out_counts", DType::i64, true);
    out.push_back(ir::store(params_.param(b), b, coordinate, children - start));
    return;
  }
  const int c = buffer(BufferBinding::out_crd, -1, level, "out_crd" + l, in_.crd, true);
  const int p = buffer(BufferBinding::out_pos, -1, level + 1, "out_pos" + std::to_string(level + 1), DType::i64, true);
  Stmts s;
  s.push_back(ir::store(params_.param(c), c, n, ir::cast(in_.crd, coordinate)));
  s.push_back(ir::store(params_.param(p), p, n, children));
  const Stmt fits =
      ir::branch(ir::lt(n, scalar(ScalarBinding::capacity, -1, level, "capacity" + l)), ir::block(std::move(s)));
  out.push_back(ir::branch(ir::gt(children, start), ir::block({fits, ir::assign("n" + l, n + 1)})));
}

}  // namespace strata::merging
