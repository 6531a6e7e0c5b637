// Places of a dense block below each element of a pattern, where nothing is summed: a vector of them at a time.
#include <algorithm>

#include "compiler/merge/nest.h"

namespace strata::merging {

Stmt Nest::places_in_vectors(int var, const Place& at) {
  constexpr std::size_t most_vectors = 8;  ///< that stand as straight code
  const std::int64_t all = constant_extent(var);
  const auto groups = compiler::groups_of(all, in_.lanes);
  if (!in_vectors_ || var + 1 != in_.num_vars || at.singly || groups.size() > most_vectors) return nullptr;
  Stmts out;
  const std::size_t lines = lines_.size();
  for (const auto& group : groups) {
    lines_.resize(lines);
    Place one = at;
    one.group = group;
    one.whole = true;
    out.push_back(enter(var, std::move(one), ir::int_const(0), {}, {}));
  }
  lines_[lines - 1] += ", in vectors";
  const Stmt whole = ir::block(std::move(out));
  // Of blocks that do not divide some have places beyond the last one.
  Place corner = at;
  corner.coordinate[static_cast<std::size_t>(var)] = ir::int_const(all - 1);
  const Expr inside = inside_bounds(var, corner);
  if (!inside) return whole;
  Place singly = at;
  singly.singly = true;
  const Stmt single = emit(var, singly);
  lines_.resize(lines);
  return ir::branch(inside, whole, single);
}

}  // namespace strata::merging
