// Rows of a dense result to which a piece of the tile is added, one for each place that the loops behind it come to:
// what these share, the rows of dense operands, is read once in front of them.
#include "compiler/results.h"

namespace strata::merging {

void Results::know_groups(Place& at, Stmts& out) {
  const int var = in_.tile;
  const auto is_complete = [&](int n) { return last_var_[static_cast<std::size_t>(n)] <= var; };
  for (const compiler::Group& g : at.groups) {
    Place one = at;
    one.group = g;
    for (int n = 0; n < std::ssize(in_.nodes); ++n) {
      const auto node = static_cast<std::size_t>(n);
      if (!moves_[node] || !is_complete(n) || (parent_[node] >= 0 && is_complete(parent_[node]))) continue;
      Element e = evaluate(n, one, out);
      if (in_.nodes[node].kind != ElementwiseNode::access) e.value = named("row", e.value, out);
      one.known[node] = std::move(e);
    }
    at.known_of_group.push_back(std::move(one.known));
  }
}

Stmt Results::add_piece_to_row(const Place& given) {
  Stmts out, add;
  Place at = given;
  const bool certain = at.holds || absent_changes_nothing();
  Stmts& values = certain ? add : out;
  know(at, moves_, out);
  const int b = buffer(BufferBinding::output, -1, 0, "out", arithmetic_.part(), true);
  Expr present;
  for (std::size_t g = 0; g < at.groups.size(); ++g) {
    Place one = at;
    one.group = at.groups[g];
    one.learn(at.known_of_group[g]);
    const std::string place = names_.fresh("place");
    values.push_back(ir::let(place, index_of(one)));
    const Value before = named(
        "before", arithmetic_.load(params_.param(b), b, in_.compute, ir::var(place), one.group.lanes, false), values);
    const Value all = with_term(arithmetic_, before, one, present, values);
    add.push_back(arithmetic_.store(params_.param(b), b, in_.compute, ir::var(place), all));
  }
  const Stmt all = ir::block(std::move(add));
  out.push_back(present && !certain ? ir::branch(present, all) : all);
  return ir::block(std::move(out));
}

}  // namespace strata::merging
