// Rows that follow each other with the same coordinates (blocks of a pruned matrix) are computed four at a time: each
// row of the dense operand that a coordinate chooses is loaded once for all of them. Which rows are alike is found out
// as they come; others go one by one.
#include "compiler/walk.h"

namespace strata::compiler {

using ir::Expr;
using ir::Stmt;

/// Declares how many rows from `row` on, identical_rows at most and all in front of `end`, have the coordinates of the
/// first.
std::string Walk::count_identical_rows(const std::string& row, const Expr& end,
                                       const std::function<Expr(const Expr&)>& position, Stmts& out) {
  const int below = s_.identical_rows_level + 1;
  const levels::CursorInputs in = cursor_inputs(below);
  const Expr at = position(ir::var(row)), first = named(out, "first", in.pos(at)),
             count = named(out, "count", in.pos(at + 1) - first);
  const std::string alike = names_.fresh("alike"), more = names_.fresh("more"), differ = names_.fresh("differ"),
                    q = names_.fresh("q");
  const Expr here = ir::var(alike), zero = ir::int_const(0), one = ir::int_const(1);
  out.push_back(ir::declare(alike, one));
  out.push_back(ir::declare(more, one));

  Stmts compare;
  const Expr next = position(ir::var(row) + here), other = named(compare, "other", in.pos(next));
  const auto same = [&](const Expr& k) { return ir::eq(crd(below, first + k), crd(below, other + k)); };
  const Stmt whole = ir::block(
      {ir::declare(differ, zero),
       ir::loop(q, zero, count, ir::assign(differ, ir::var(differ) + ir::select(same(ir::var(q)), zero, one))),
       ir::branch(ir::eq(ir::var(differ), zero), ir::block({ir::assign(alike, here + one), ir::assign(more, one)}))});
  const Stmt ends = ir::branch(ir::logical_and(same(zero), same(count - 1)), whole);
  compare.push_back(ir::branch(ir::eq(in.pos(next + 1) - other, count), ir::branch(ir::gt(count, zero), ends)));
  const Expr may_be = ir::logical_and(ir::lt(here, ir::int_const(identical_rows)), ir::lt(ir::var(row) + here, end));
  out.push_back(ir::while_loop(ir::eq(ir::var(more), one),
                               ir::block({ir::assign(more, zero), ir::branch(may_be, ir::block(std::move(compare)))})));
  return alike;
}

Stmt Walk::emit_identical_rows(const Point& at, const levels::Cursor& cursor,
                               const std::function<levels::Cursor()>& open,
                               const std::function<Stmt(const Point&, const levels::Cursor&)>& inside) {
  Stmts out;
  const std::string row = names_.fresh(g_.levels[static_cast<std::size_t>(s_.identical_rows_level)].stem);
  const Expr end = named(out, "end_row", cursor.counted->end);
  out.push_back(ir::declare(row, cursor.counted->begin));
  const auto position = [&](const Expr& r) { return cursor.locate(r).position; };
  Stmts inner;
  const std::string alike = count_identical_rows(row, end, position, inner);
  const auto body = [&](int rows) {
    const levels::Cursor c = open();
    Point together = at;
    together.identical = rows;
    return ir::block(
        {ir::let(c.counted->variable, ir::var(row)), inside(together, c), ir::assign(row, ir::var(row) + rows)});
  };
  const Stmt all = body(identical_rows), one = body(1);
  inner.push_back(ir::branch(ir::eq(ir::var(alike), ir::int_const(identical_rows)), all, one));
  out.push_back(ir::while_loop(ir::lt(ir::var(row), end), ir::block(std::move(inner))));
  return ir::block(std::move(out));
}

void Walk::load_twins(Point& at, Stmts& out) {
  const levels::CursorInputs in = cursor_inputs(s_.identical_rows_level + 1);
  for (int t = 1; t < at.identical; ++t) {
    Twin twin;
    twin.apart = named(out, "apart", in.pos(at.position + t) - in.pos(at.position));
    twin.loaded.resize(g_.dense.size());
    for (std::size_t a = 0; a + 1 < g_.dense.size(); ++a) {
      const Expr stride = stride_of_level(g_.dense[a], s_.identical_rows_level);
      if (!stride) continue;
      Point row = at;
      row.address[a] = named(out, "twin_at", at.address[a] + stride * t);
      row.loaded[a].clear();
      settle(row, out);
      twin.loaded[a] = row.loaded[a];
    }
    at.twins.push_back(std::move(twin));
  }
  at.next_row = named(out, "next_row", in.pos(at.position + 1));
  at.row_slots = named(out, "row_slots", at.next_row - in.pos(at.position));
}

}  // namespace strata::compiler
