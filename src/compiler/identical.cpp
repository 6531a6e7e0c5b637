// Rows of a pattern that follow each other with the same coordinates (blocks of a pruned matrix) are computed four at a
// time: each row of a dense operand that a coordinate chooses is loaded once for all of them. Which rows are identical
// is found out as they come; others go one by one.
#include <algorithm>
#include <utility>

#include "compiler/nest.h"

namespace strata::merging {

namespace {
constexpr int together = 4;  ///< rows
}

bool Nest::has_identical_rows(int var) const {
  return in_.identical_rows && var + 2 == summed_from_ && kind(in_.pattern, var) == LevelKind::dense &&
         kind(in_.pattern, var + 1) == LevelKind::compressed && slots_together(var + 1) > 1;
}

Stmt Nest::identical_rows(int var, const Place& at, const Expr& first, const Expr& last) {
  const std::string row = names_.fresh(letter(var));
  Stmts out, round;
  const Expr end = compiler::named(names_, out, "end_row", last);
  out.push_back(ir::declare(row, first));
  const Expr parent = at.position[static_cast<std::size_t>(in_.pattern)] * extent(var);
  const std::string same = count_identical_rows(parent, row, end, var, round);
  const std::size_t lines = lines_.size();
  Stmts all, one;
  for (int r = 0; r < together; ++r) {
    Place of_row = at;
    of_row.row = r;
    of_row.rows = together;
    all.push_back(enter(var, std::move(of_row), ir::var(row) + r, {}, {}));
  }
  all.push_back(ir::assign(row, ir::var(row) + together));
  lines_.resize(lines);
  one.push_back(enter(var, at, ir::var(row), {}, {}));
  one.push_back(ir::assign(row, ir::var(row) + 1));
  lines_[lines - 1] += ", " + std::to_string(together) + " together that have the same coordinates";
  round.push_back(
      ir::branch(ir::eq(ir::var(same), ir::int_const(together)), ir::block(std::move(all)), ir::block(std::move(one))));
  out.push_back(ir::while_loop(ir::lt(ir::var(row), end), ir::block(std::move(round))));
  return ir::block(std::move(out));
}

/// Declares how many rows from `row` on, `together` at most and all in front of `end`, have the coordinates of the
/// first.
std::string Nest::count_identical_rows(const Expr& parent, const std::string& row, const Expr& end, int var,
                                       Stmts& out) {
  const int k = in_.pattern, below = var + 1;
  const auto named = [&](Stmts& to, const char* stem, const Expr& e) { return compiler::named(names_, to, stem, e); };
  const auto start = [&](const Expr& r) { return pos(k, below, parent + r); };
  const Expr begin = named(out, "first", start(ir::var(row))),
             count = named(out, "count", start(ir::var(row) + 1) - begin);
  const std::string same = names_.fresh("same"), more = names_.fresh("more"), differ = names_.fresh("differ"),
                    q = names_.fresh("q");
  const Expr here = ir::var(same), zero = ir::int_const(0), one = ir::int_const(1);
  out.push_back(ir::declare(same, one));
  out.push_back(ir::declare(more, one));

  Stmts compare;
  const Expr next = named(compare, "next", ir::var(row) + here), other = named(compare, "other", start(next));
  const auto equal = [&](const Expr& p) { return ir::eq(crd(k, below, begin + p), crd(k, below, other + p)); };
  const Stmt whole = ir::block(
      {ir::declare(differ, zero),
       ir::loop(q, zero, count, ir::assign(differ, ir::var(differ) + ir::select(equal(ir::var(q)), zero, one))),
       ir::branch(ir::eq(ir::var(differ), zero), ir::block({ir::assign(same, here + one), ir::assign(more, one)}))});
  const Stmt ends = ir::branch(ir::logical_and(equal(zero), equal(count - 1)), whole);
  compare.push_back(ir::branch(ir::eq(start(next + 1) - other, count), ir::branch(ir::gt(count, zero), ends)));
  const Expr may_be = ir::logical_and(ir::lt(here, ir::int_const(together)), ir::lt(ir::var(row) + here, end));
  out.push_back(ir::while_loop(ir::eq(ir::var(more), one),
                               ir::block({ir::assign(more, zero), ir::branch(may_be, ir::block(std::move(compare)))})));
  return same;
}

Stmt Nest::slots_of_identical_rows(int var, const Place& at, const Fiber& own, const Set& set) {
  rows_.emplace_back(at, own);
  if (at.row + 1 < at.rows) return ir::block({});
  const auto rows = std::exchange(rows_, {});
  const Fiber& leading = rows.front().second;
  Stmts out;
  const Expr last = last_element_of(var, leading, out);
  std::vector<Expr> apart;
  for (const auto& [place, fiber] : rows)
    apart.push_back(compiler::named(names_, out, "apart", fiber.begin - leading.begin));
  // Behind this row an element ahead is one of the rows behind those that share its coordinates.
  const Expr skipped =
      last ? compiler::named(names_, out, "skipped", (leading.end - leading.begin) * (together - 1)) : nullptr;
  std::vector<Expr> positions, columns;
  const auto copy = [&](const Expr& position, int chain, bool is_last) {
    Stmts body;
    Fiber c = leading;
    c.p = names_.fresh(leading.p + "_of");
    body.push_back(ir::let(c.p, position));
    if (last) prefetch_rows(at, c, last, body, skipped);
    if (chain == 0) positions.clear(), columns.clear();
    positions.push_back(ir::var(c.p));
    columns.push_back(compiler::named(names_, body, letter(var), here(c)));
    const auto n = static_cast<int>(columns.size());
    if (!is_last) return ir::block(std::move(body));
    const std::size_t lines = lines_.size();
    const int held =
        std::max(1, sums_held() / (slots_together(var) * chains_of_slot()));  // rows whose sums stay in registers
    for (int r = 0; r < at.rows; ++r)
      for (int s = 0; s < n; ++s) {
        const auto& [place, fiber] = rows[static_cast<std::size_t>(r)];
        Place inside = place;
        inside.chain = r % held * n + s;
        inside.slots = held * n;
        inside.in_block = columns;
        Fiber slot = fiber;
        slot.p = names_.fresh(fiber.p + "_of");
        body.push_back(ir::let(slot.p, positions[static_cast<std::size_t>(s)] + apart[static_cast<std::size_t>(r)]));
        body.push_back(enter(var, std::move(inside), columns[static_cast<std::size_t>(s)], {slot}, set));
      }
    lines_.resize(lines);
    return ir::block(std::move(body));
  };
  out.push_back(loop_in_chains(names_, leading.p, leading.begin, leading.end, slots_together(var), copy));
  return ir::block(std::move(out));
}

}  // namespace strata::merging
