#include "format/registered_levels.h"

#include "format/levels/kinds.h"

namespace strata::levels {
namespace {

/// The arithmetic of a level type in loop IR.
struct Code {
  const CursorInputs& in;
  ir::Expr parent = nullptr, first = nullptr, p = nullptr, previous = nullptr;

  ir::Expr number(std::int64_t n) const { return ir::int_const(n); }
  ir::Expr word(Word w) const {
    switch (w) {
      case Word::parent: return parent;
      case Word::first: return first;
      case Word::p: return p;
      case Word::previous: return previous;
      case Word::lo: return in.lo;
      case Word::size: return in.size;
      default: return ir::int_const(in.level.arg);
    }
  }
  ir::Expr crd(const ir::Expr& i) const { return in.crd(i); }
  std::int64_t divisor_n() const { return in.level.arg; }
  ir::Expr divide(LevelText::Op op, const ir::Expr& a, std::int64_t b) const {
    return op == LevelText::Op::div ? ir::floor_div(a, b) : ir::floor_mod(a, b);
  }
  ir::Expr apply(LevelText::Op op, const ir::Expr& a, const ir::Expr& b) const {
    switch (op) {
      case LevelText::Op::add: return a + b;
      case LevelText::Op::sub: return a - b;
      case LevelText::Op::mul: return a * b;
      case LevelText::Op::min: return ir::min(a, b);
      default: return ir::max(a, b);
    }
  }
};

ir::Expr first_of(const CursorInputs& in, const ir::Expr& parent) {
  return registered(in.level.kind).has_pos ? in.pos(parent) : parent * slots_in_code(in);
}

/// `previous`: the coordinate of the position before.
ir::Expr coordinate(const CursorInputs& in, const ir::Expr& parent, const ir::Expr& position,
                    const ir::Expr& previous) {
  const LevelText& text = registered(in.level.kind).coordinate;
  const ir::Expr first = text.uses(Word::first) ? first_of(in, parent) : nullptr;
  return text.evaluate<ir::Expr>(Code{in, parent, first, position, previous});
}

}  // namespace

ir::Expr slots_in_code(const CursorInputs& in) { return registered(in.level.kind).slots.evaluate<ir::Expr>(Code{in}); }

/// A level type of a user: children are counted, and its text says which coordinate each has.
Cursor open_registered(const CursorInputs& in, const ir::Expr& parent) {
  const RegisteredLevel& level = registered(in.level.kind);
  Cursor cursor;
  const ir::Expr first = first_of(in, parent);
  cursor.counted = {in.fresh("p" + in.stem), first, level.has_pos ? in.pos(parent + 1) : first + slots_in_code(in)};
  cursor.position = ir::var(cursor.counted->variable);
  if (level.coordinate.uses(Word::previous)) {
    const Steps steps = steps_of_registered(in, parent, cursor.position);
    cursor.state = steps.state;
    cursor.enter = steps.step;
    cursor.coordinate = steps.coordinate;
  } else {
    const std::string c = in.fresh(in.stem);
    cursor.enter = ir::let(c, coordinate(in, parent, cursor.position, nullptr));
    cursor.coordinate = ir::var(c);
  }
  return cursor;
}

Steps steps_of_registered(const CursorInputs& in, const ir::Expr& parent, const ir::Expr& position) {
  const std::string c = in.fresh(in.stem);
  return {.before = nullptr,
          .state = {{c, in.lo - 1}},
          .step = ir::assign(c, coordinate(in, parent, position, ir::var(c))),
          .coordinate = ir::var(c)};
}

}  // namespace strata::levels
