// Places of a dense block below each element of a pattern, where nothing is summed: a vector of them at a time.
#include "compiler/nest.h"

namespace strata::merging {

Stmt Nest::places_in_vectors(int var, const Place& at) {
  constexpr std::size_t most_vectors = 8;  ///< that stand as straight code
  const auto groups = compiler::groups_of(constant_extent(var), in_.lanes);
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
  return whole_or_singly(var, var, at, ir::block(std::move(out)));
}

}  // namespace strata::merging
