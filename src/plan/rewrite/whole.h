#pragma once
// Reductions of all stored values to one number: norms, the largest element.
#include <map>
#include <optional>
#include <string>

#include "plan/rewrite/steps.h"

namespace strata::direct {

/// The same reduction over the values alone.
struct Whole {
  Assignment assignment;
  Operands operands;
  std::vector<Lazy> sparse;  ///< operands, of one pattern
  bool full = false;         ///< it was taken for one without absent elements; otherwise for one that has some
};

/// s = max(i, max(j, f(A(i,j)))) as the maximum of f over A's values, a vector, and of what counts where an element is
/// missing: one loop without rows and coordinates, in whole vectors of memory. Of sparse operands that differ in their
/// values alone and have many; nothing where the expression is of another kind. `a`: with plain accesses.
std::optional<Whole> reduction_of_values(const Assignment& a, const Operands& operands, const Asked& options);
/// Its result: planned once more when the values are counted. `otherwise` where slots turn out to be no elements, or
/// elements to be absent, or none.
Explained planned(const Whole& whole, const Asked& options, std::function<Lazy()> otherwise);

}  // namespace strata::direct
