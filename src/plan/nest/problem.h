#pragma once
// What one nest of loops is to compute.
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "plan/asked.h"
#include "plan/nest/unit.h"

namespace strata::direct {

/// An assignment of plain accesses without inner reductions, over operands that were made for it.
struct NestProblem {
  Assignment assignment;
  Operands operands;
  Asked options;                                ///< with the result's format
  std::map<std::string, std::int64_t> extents;  ///< of the indices

  // --- where indices have been cut in two -------------------------------------------------------------------------
  std::vector<std::string> inside;                ///< count within blocks of an operand
  std::map<std::string, std::int64_t> constants;  ///< extents that do not depend on the operands
  std::vector<IndexBound<std::string>> bounds;    ///< blocks that do not divide
  std::vector<std::int64_t> strides;              ///< of a dense result, where it is not row-major
  std::int64_t size = 0;                          ///< ... its elements
  std::optional<Skew<std::string>> skew = {};     ///< ... of it
  bool counts_absent = true;  ///< false: a reduction takes what is there alone, as a semiring's sum does

  // --- what a user asks for ---------------------------------------------------------------------------------------
  Constraints constraints;
};

/// Accesses made plain, the result's format inferred where `options` has none. Nothing where that cannot be, and `why`.
std::optional<NestProblem> make_problem(const Assignment& a, const Operands& operands, const Asked& options,
                                        std::string& why);

bool has_reduction(const Expression& e);
/// Peels the reductions of one kind off the root, outermost first: index, and whether the notation implied it.
Expression peeled(const Expression& value, std::vector<std::pair<std::string, bool>>& reductions);

}  // namespace strata::direct
