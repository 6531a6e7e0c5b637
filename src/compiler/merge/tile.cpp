// The sums of a piece of the tile, which stay in registers while the loops inside walk the sparse operands: what these
// find is spread over all lanes. Without the tile every term would be added to the result's memory.
#include "compiler/merge/results.h"

namespace strata::merging {

Stmt Results::accumulate_piece(int var, const Place& at) {
  Stmts out;
  found_ = "";
  open_totals(at.groups.size(), [&](std::size_t g) { return at.groups[g].lanes; }, out);
  if (in_.others) out.push_back(ir::declare(count_ = names_.fresh("count"), ir::int_const(0)));
  register_open_ = true;
  out.push_back(emit(var, at));
  register_open_ = false;
  const Expr some_absent = in_.others ? ir::lt(ir::var(count_), places(var)) : nullptr;
  Place place = at;
  for (std::size_t g = 0; g < at.groups.size(); ++g) {
    place.group = at.groups[g];
    Value all = joined_total(out, g);
    if (some_absent) {
      all = named("all", all, out);
      const Value more = total_.broadcast(cast(constant(*in_.others), in_.compute, total_.compute()), all.lanes());
      all = total_.either(some_absent, joined(all, more), all);
    }
    put(place, {nullptr, cast(all, total_.compute(), in_.compute)}, out);
  }
  return ir::block(std::move(out));
}

Stmt Results::leaf_of_piece(const Place& given) {
  Stmts out, add;
  Place at = given;
  for (std::size_t n = 0; n < in_.nodes.size(); ++n) {  // what all lanes share, once
    const int parent = parent_[n];
    if (moves_[n] || at.known[n] || parent < 0 || !moves_[static_cast<std::size_t>(parent)]) continue;
    Element e = evaluate(static_cast<int>(n), at, out);
    if (in_.nodes[n].kind != ElementwiseNode::constant) e.value = named("shared", e.value, out);
    at.known[n] = std::move(e);
  }
  Expr present;
  for (std::size_t g = 0; g < at.groups.size(); ++g) {
    at.group = at.groups[g];
    const Value total = this->total(g, at.chain);
    const Value next = with_term(total_, total, at, present, out);
    add.push_back(ir::assign(total.re->name, next.re));
  }
  if (at.holds || absent_changes_nothing()) present = nullptr;
  if (in_.others) add.push_back(ir::assign(count_, ir::var(count_) + 1));
  const Stmt all = ir::block(std::move(add));
  out.push_back(present ? ir::branch(present, all) : all);
  return ir::block(std::move(out));
}

}  // namespace strata::merging
