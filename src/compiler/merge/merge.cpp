#include "compiler/merge/merge.h"

#include <algorithm>

#include "compiler/merge/nest.h"

namespace strata::merging {

namespace {

/// The first summed variable that has one of the result inside it; -1: none.
int first_inverted(const std::vector<char>& summed) {
  for (std::size_t v = 0; v < summed.size(); ++v)
    if (summed[v] && std::find(summed.begin() + static_cast<std::ptrdiff_t>(v), summed.end(), 0) != summed.end())
      return static_cast<int>(v);
  return -1;
}

/// Sums of float32 in a register lose nothing that their result could hold.
DType dtype_of_totals(const Input& in) {
  if (in.combine != Combine::plus) return in.compute;
  return in.compute == DType::f32 ? DType::f64 : in.compute == DType::c64 ? DType::c128 : in.compute;
}

}  // namespace

bool can_assemble(const std::vector<char>& summed) {
  const int inverted = first_inverted(summed);
  return inverted < 0 || std::count(summed.begin() + inverted, summed.end(), 0) == 1;
}

int workspace_of(const std::vector<char>& summed) {
  const int inverted = first_inverted(summed);
  if (inverted < 0) return -1;
  return static_cast<int>(std::find(summed.begin() + inverted, summed.end(), 0) - summed.begin());
}

Nest::Nest(const Input& input)
    : in_(input), params_(names_), arithmetic_(input.compute), total_(dtype_of_totals(input)) {
  level_of_.assign(static_cast<std::size_t>(in_.num_vars), -1);
  last_var_.assign(in_.nodes.size(), -1);
  parent_.assign(in_.nodes.size(), -1);
  for (std::size_t k = 0; k < in_.nodes.size(); ++k) {
    if (in_.nodes[k].kind == Node::access)
      for (int v : operand(in_.nodes[k].operand).vars) last_var_[k] = std::max(last_var_[k], v);
    for (int a : in_.nodes[k].arguments) {
      parent_[static_cast<std::size_t>(a)] = static_cast<int>(k);
      last_var_[k] = std::max(last_var_[k], last_var_[static_cast<std::size_t>(a)]);
    }
  }
  const auto n = static_cast<std::size_t>(in_.num_vars);
  int last = -1;
  for (std::size_t v = 0; v < n; ++v)
    if (!in_.summed[v]) last = static_cast<int>(v);
  if (last + 1 < in_.num_vars) summed_from_ = last + 1;
  inverted_ = first_inverted(in_.summed) >= 0;
  if (in_.others && inverted_) {
    counted_from_ = first_inverted(in_.summed);
    counted_to_ = workspace_of(in_.summed);
  }
  if (in_.dense_result || in_.pattern >= 0) return;
  for (std::size_t v = 0; v < n; ++v)
    if (!in_.summed[v]) levels_.push_back(static_cast<int>(v));
  tail_.assign(levels_.end() - in_.dense_tail, levels_.end());
  levels_.resize(levels_.size() - tail_.size());
  for (std::size_t l = 0; l < levels_.size(); ++l)
    level_of_[static_cast<std::size_t>(levels_[l])] = static_cast<int>(l);
  if (in_.blocks) {
    workspace_ = levels_.back();
    return;
  }
  std::vector<char> above = in_.summed;  // a block takes sums in any order
  for (int v : tail_) above[static_cast<std::size_t>(v)] = 1;
  workspace_ = workspace_of(above);
  if (workspace_ >= 0) drained_ = first_inverted(above);
  holds_mask_ = can_hold_mask();
}

Lowered Nest::build() {
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
  Lowered out;
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

Lowered lower(const Input& input) { return Nest(input).build(); }

}  // namespace strata::merging
