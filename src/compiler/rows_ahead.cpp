// Rows of dense operands that the elements of a sparse one choose are asked for some elements ahead: which row is next
// no hardware guesses.
#include <algorithm>

#include "compiler/values.h"

namespace strata::merging {

namespace {

constexpr std::int64_t line = 64;       ///< bytes
constexpr std::int64_t most_lines = 8;  ///< of a row that is not in pieces

/// The variable of the rows; -1: there is none.
int row_variable(const Input& in) {
  if (in.tile >= 0) return in.tile;
  const int last = in.num_vars - 1;
  return last > 0 && (!in.summed[static_cast<std::size_t>(last)] || in.pattern >= 0) ? last : -1;
}

}  // namespace

int choosing_variable(const Input& in) { return in.num_vars - (in.tile >= 0 ? 1 : 2); }

bool has_chosen_rows(const Input& in, int k) {
  const int row = row_variable(in);
  const Operand& o = in.operands[static_cast<std::size_t>(k)];
  return row >= 0 && k != in.mask && o.dense && o.contiguous >= 0 &&
         o.vars[static_cast<std::size_t>(o.contiguous)] == row && o.has(choosing_variable(in));
}

Expr Values::last_element(const Fiber& only, Stmts& out) {
  // Behind the last element of this call nothing is read.
  if (only.level == 0) return compiler::named(names_, out, "last", only.end - 1);
  const auto top = end_of_top_.find(only.operand);
  if (top != end_of_top_.end() && kind(only.operand, only.level) == LevelKind::singleton)
    return compiler::named(names_, out, "last", top->second - 1);
  Expr count;
  for (int l = operand(only.operand).type.batch_levels; l <= only.level; ++l) {  // of a batch: its own
    const int v = operand(only.operand).vars[static_cast<std::size_t>(l)];
    const LevelKind k = kind(only.operand, l);
    if (k == LevelKind::dense) {
      const Expr all = last_of(v);
      count = count ? count * extent(v) : all;
    } else if (k == LevelKind::compressed && l == 0 && top != end_of_top_.end()) {
      count = top->second;
    } else if (k == LevelKind::compressed && l > 0) {
      count = pos(only.operand, l, count ? count : ir::int_const(1));
    } else {
      return nullptr;
    }
  }
  return compiler::named(names_, out, "last", count - 1);
}

void Values::prefetch_row(int k, const Place& later, bool second_level, Stmts& out) {
  const int row = row_variable(in_);
  const DType stored = part_dtype(operand(k).type.dtype);
  const std::int64_t step = line / static_cast<std::int64_t>(size_of(stored)), known = constant_extent(row);
  const std::int64_t end = !later.groups.empty() ? later.groups.back().offset + later.groups.back().lanes
                           : known > 0           ? std::min(known, most_lines * step)
                                                 : most_lines / 2 * step;
  const int b = buffer(BufferBinding::values, k, 0, name_of_operand(k) + "_values", stored);
  const Expr first = compiler::named(names_, out, "row", dense_index(k, later));
  for (std::int64_t c = 0; c < end; c += step) out.push_back(ir::prefetch(b, first + c, second_level));
  // A row that does not begin with a line ends in one more.
  if (in_.prefetch.by_row && known > 0 && end == known && end % step == 0)
    out.push_back(ir::prefetch(b, first + (end - 1), second_level));
}

void Values::prefetch_rows(const Place& at, const Fiber& only, const Expr& last, Stmts& out, const Expr& skipped) {
  const RowPrefetch& how = in_.prefetch;
  const auto ask = [&](int ahead, bool second_level) {
    Place later = at;
    Expr place = ir::var(only.p) + ahead;
    if (skipped) place = ir::select(ir::lt(place, only.end), place, place + skipped);
    const Expr element = compiler::named(names_, out, "ahead", ir::min(place, last));
    // Below positions that are walked one by one each has its own coordinates of the levels that follow, too.
    const auto& vars = operand(only.operand).vars;
    Expr chosen, now;
    for (std::size_t l = static_cast<std::size_t>(only.level); l < vars.size() && vars[l] <= choosing_variable(in_);
         ++l) {
      const int level = static_cast<int>(l);
      chosen = compiler::named(names_, out, "chosen", crd(only.operand, level, element));
      now = crd(only.operand, level, ir::var(only.p));
      later.coordinate[static_cast<std::size_t>(vars[l])] = chosen;
    }
    if (at.groups.empty()) later.coordinate[static_cast<std::size_t>(row_variable(in_))] = ir::int_const(0);
    Stmts asks;
    for (int k = 0; k < static_cast<int>(in_.operands.size()); ++k)
      if (has_chosen_rows(in_, k)) prefetch_row(k, later, second_level, asks);
    Stmt all = ir::block(std::move(asks));
    if (how.near >= 0) {
      const Expr apart = compiler::named(names_, out, "apart", chosen - now);
      const auto near = ir::int_const(how.near), other = ir::int_const(-how.near);
      all = ir::branch(ir::logical_or(ir::gt(apart, near), ir::lt(apart, other)), all);
    }
    out.push_back(all);
  };
  ask(how.ahead, how.second_level);
  if (how.again > 0) ask(how.again, false);
}

void Values::prefetch_by_row(int var, const Place& at, const Expr& row, Stmts& out) {
  constexpr int rows = 8;                 // between asking for a row that follows the present one and reading it
  constexpr std::int64_t long_row = 256;  // bytes from which on that pays
  const int chooser = choosing_variable(in_), along = row_variable(in_);
  if (!in_.prefetch.by_row || var + 1 != chooser || along < 0) return;
  for (int k = 0; k < static_cast<int>(in_.operands.size()); ++k) {
    const Operand& o = operand(k);
    const bool is_row =
        o.dense && o.contiguous >= 0 && o.vars[static_cast<std::size_t>(o.contiguous)] == along && k != in_.mask;
    if (!is_row || o.has(var) == o.has(chooser)) continue;
    Place later = at;
    later.coordinate[static_cast<std::size_t>(along)] = ir::int_const(0);
    if (o.has(var)) {
      later.coordinate[static_cast<std::size_t>(var)] = row + rows;
      if (constant_extent(along) * static_cast<std::int64_t>(size_of(o.type.dtype)) < long_row) continue;
    } else {
      if (!in_.prefetch.along) continue;
      later.coordinate[static_cast<std::size_t>(chooser)] =
          row + scalar(ScalarBinding::lead, in_.pattern, var + 1, "lead");
    }
    prefetch_row(k, later, true, out);
  }
}

}  // namespace strata::merging
