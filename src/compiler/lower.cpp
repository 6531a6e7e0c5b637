#include "compiler/merge.h"

#include <algorithm>

#include "compiler/nest.h"

namespace strata::merging {

LoweredNest Nest::build() {
  Place at;
  at.coordinate.resize(static_cast<std::size_t>(in_.num_vars));
  at.position.assign(in_.operands.size(), ir::int_const(0));
  at.next.resize(in_.operands.size());
  at.present.resize(in_.operands.size());
  at.level.resize(in_.operands.size());
  at.readable.resize(in_.operands.size());
  at.known.resize(in_.nodes.size());
  Stmts body;
  for (std::size_t l = 0; l < levels_.size(); ++l) {  // goes on where the call before has stopped
    const int b = buffer(BufferBinding::out_sizes, -1, 0, "out_sizes", DType::i64, !is_numeric());
    body.push_back(ir::declare("n" + std::to_string(l),
                               ir::load(params_.param(b), b, ir::int_const(static_cast<std::int64_t>(l)))));
  }
  body.push_back(in_.slots ? every_slot(at) : in_.blocks ? every_panel(at) : emit(0, at));
  if (is_numeric()) {
    check_ends(body);
  } else if (!levels_.empty()) {
    const int b = buffer(BufferBinding::out_sizes, -1, 0, "out_sizes", DType::i64, true);
    for (std::size_t l = 0; l < levels_.size(); ++l)
      body.push_back(
          ir::store(params_.param(b), b, ir::int_const(static_cast<std::int64_t>(l)), size(static_cast<int>(l))));
  }
  LoweredNest out;
  static_cast<BoundFunction&>(out) = params_.kernel(ir::block(std::move(body)));
  out.workspace = workspace_;
  out.holds_mask = holds_mask_;
  out.levels = levels_;
  out.tail = tail_;
  for (const auto& line : lines_) out.text += line + "\n";
  if (in_.blocks) {
    const auto by = [](std::int64_t rows, std::int64_t columns) {
      return std::to_string(rows) + " x " + std::to_string(columns);
    };
    out.text += "workspace over " + letter(workspace_) + ", in blocks of " + by(in_.blocks.rows, in_.blocks.columns) +
                " for so many rows of " + letter(0) + "\n";
  } else if (workspace_ >= 0) {
    out.text += "workspace over " + letter(workspace_);
    for (int v : tail_) out.text += (v == tail_[0] ? ", in blocks of " : " x ") + letter(v);
    if (is_numeric()) out.text += ", of the slots of the earlier result";
    out.text += std::string(holds_mask_ ? ", and the mask's row beside it" : "") + "\n";
  }
  ir::verify(out.function);
  return out;
}

// A value for each slot of a pattern: short rows are all about their ends, which one loop over all slots does not have.
Stmt Nest::every_slot(Place at) {
  const Expr slot = ir::var(names_.fresh("slot"));
  for (std::size_t k = 0; k < in_.operands.size(); ++k)
    if (!in_.operands[k].dense)
      at.position[k] = in_.operands[k].each_slot ? slot - ir::var("begin") : slot;  // a dense one is a number
  lines_.push_back("one loop over the slots of " + name_of_operand(in_.pattern));
  return ir::loop(slot->name, ir::var("begin"), ir::var("end"), leaf(at));
}

// A matrix in blocks from operands that have none: rows that share blocks are computed one after the other, into blocks
// of the workspace, which are appended behind the last of them.
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

LoweredNest lower(const Input& input) { return Nest(input).build(); }

}  // namespace strata::merging
