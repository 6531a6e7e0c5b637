#pragma once
// Reductions inside of an expression, carried out before it.
#include <map>
#include <string>
#include <vector>

#include "plan/rewrite/steps.h"

namespace strata::direct {

/// An elementwise tree, and the operands that it names: among them the reductions that stood in it.
struct Hoisted {
  Expression value;
  Operands operands;
  std::vector<Lazy> all_rows;  ///< what was taken for full: true in each row that has an element
  /// Numbers under a quotient that were taken for sums of some terms (one that has none is absent, which no operand
  /// without indices can say), and the operand whose elements they are, where it is one.
  std::vector<std::pair<Lazy, std::optional<Lazy>>> not_nothing;
  std::vector<std::function<std::string()>> steps;  ///< what explain() says of each, in the order of their making
};

/// `body` is a tree of an assignment with these indices, `options` have its result's format. `rows_are_full`: no row of
/// a sparse factor below a quotient of sums is empty; otherwise results in such rows are left out.
Hoisted hoist_reductions(const Expression& body, const std::vector<std::string>& indices, const Operands& operands,
                         const Asked& options, bool rows_are_full);

}  // namespace strata::direct
