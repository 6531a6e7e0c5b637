// A matrix in blocks from operands that have none: rows that share blocks are computed one after the other, into blocks
// of the workspace, which are appended behind the last of them.
#include "compiler/merge/nest.h"

namespace strata::merging {

Stmt Nest::every_panel(const Place& at) {
  const std::string panel = names_.fresh("panel"), first = names_.fresh("row_begin"), last = names_.fresh("row_end"),
                    start = names_.fresh("start");
  const int counts = buffer(BufferBinding::out_counts, -1, 0, "out_counts", DType::i64, true);
  first_ = ir::var(first);
  last_ = ir::var(last);
  Stmts out;
  out.push_back(ir::let(first, ir::var(panel) * in_.blocks.rows));
  out.push_back(ir::let(last, ir::min(first_ + in_.blocks.rows, extent(0))));
  out.push_back(emit(0, at));
  out.push_back(ir::let(start, size(1)));
  out.push_back(drain());
  out.push_back(ir::store(params_.param(counts), counts, ir::var(panel), size(1) - ir::var(start)));
  return ir::loop(panel, ir::var("begin"), ir::var("end"), ir::block(std::move(out)));
}

void Nest::insert_in_block(const Place& at, const Value& value, Stmts& out) {
  const Expr& column = at.coordinate[static_cast<std::size_t>(workspace_)];
  const std::string block = names_.fresh("block"), row = names_.fresh("row_in"), inside = names_.fresh("column_in");
  out.push_back(ir::let(block, ir::floor_div(column, in_.blocks.columns)));
  out.push_back(ir::let(row, at.coordinate[0] - first_));
  out.push_back(ir::let(inside, column - ir::var(block) * in_.blocks.columns));
  const Expr place = in_.blocks.column_major ? ir::var(inside) * in_.blocks.rows + ir::var(row)
                                             : ir::var(row) * in_.blocks.columns + ir::var(inside);
  mark(ir::var(block), out);
  meet(buffer(BufferBinding::row_values, -1, 0, "row", arithmetic_.part(), true),
       ir::var(block) * in_.blocks.size() + place, value, out);
}

}  // namespace strata::merging
