// Rows of dense operands that the elements of a sparse one choose are asked for some elements ahead: which row is next
// no hardware guesses.
#include <algorithm>

#include "compiler/merge/values.h"

namespace strata::merging {

namespace {

constexpr std::int64_t line = 64;       ///< bytes
constexpr std::int64_t most_lines = 8;  ///< of a row that is not in pieces

bool has(const Operand& o, int var) { return std::ranges::find(o.vars, var) != o.vars.end(); }

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
         o.vars[static_cast<std::size_t>(o.contiguous)] == row && has(o, choosing_variable(in));
}

Expr Values::last_element(const Fiber& only, Stmts& out) {
  // Behind the last element of this call nothing is read.
  if (only.level == 0) return compiler::named(names_, out, "last", only.end - 1);
  if (const auto list = end_of_list_.find(only.operand);
      list != end_of_list_.end() && kind(only.operand, only.level) == LevelKind::singleton)
    return compiler::named(names_, out, "last", list->second - 1);
  Expr count;
  for (int l = 0; l <= only.level; ++l) {
    const int v = operand(only.operand).vars[static_cast<std::size_t>(l)];
    const LevelKind k = kind(only.operand, l);
    if (k == LevelKind::dense) {
      const Expr all = v == 0 ? last_ : extent(v);
      count = count ? count * extent(v) : all;
    } else if (k == LevelKind::compressed && l > 0) {
      count = pos(only.operand, l, count);
    } else {
      return nullptr;
    }
  }
  return compiler::named(names_, out, "last", count - 1);
}

void Values::prefetch_rows(const Place& at, const Fiber& only, const Expr& last, Stmts& out) {
  Place later = at;
  const Expr element = compiler::named(names_, out, "ahead", ir::min(ir::var(only.p) + in_.rows_ahead, last));
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
  Stmts ask;
  const int row = row_variable(in_);
  if (at.groups.empty()) later.coordinate[static_cast<std::size_t>(row)] = ir::int_const(0);
  for (int k = 0; k < static_cast<int>(in_.operands.size()); ++k) {
    if (!has_chosen_rows(in_, k)) continue;
    const DType stored = part_dtype(operand(k).type.dtype);
    const std::int64_t step = line / static_cast<std::int64_t>(size_of(stored)), known = constant_extent(row);
    const std::int64_t end = !at.groups.empty() ? at.groups.back().offset + at.groups.back().lanes
                             : known > 0        ? std::min(known, most_lines * step)
                                                : most_lines / 2 * step;
    const int b = buffer(BufferBinding::values, k, 0, name_of_operand(k) + "_values", stored);
    const Expr first = compiler::named(names_, ask, "row", dense_index(k, later));
    for (std::int64_t c = 0; c < end; c += step) ask.push_back(ir::prefetch(b, first + c, in_.rows_second_level));
  }
  Stmt all = ir::block(std::move(ask));
  if (in_.rows_near >= 0) {
    const Expr apart = compiler::named(names_, out, "apart", chosen - now);
    const auto near = ir::int_const(in_.rows_near), other = ir::int_const(-in_.rows_near);
    all = ir::branch(ir::logical_or(ir::gt(apart, near), ir::lt(apart, other)), all);
  }
  out.push_back(all);
}

}  // namespace strata::merging
