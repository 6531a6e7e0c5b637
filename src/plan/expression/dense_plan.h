#pragma once
#include "plan/expression/ways.h"
#include "plan/long_rows.h"

namespace strata::evaluation {

/// One product, at most one of whose operands is sparse, into dense memory, by a kernel that is written for it.
struct DensePlan {
  Plan plan;
  std::optional<planning::SummedOperand>
      long_rows;  ///< of an operand: whose sums the kernel does not add up well enough
  Einsum einsum;
  std::vector<std::string> names;  ///< of the operands in the plan's order
  std::vector<Lazy> operands;      ///< as the plan takes them
  Scalar factor;                   ///< what numbers among the factors come to: sums are multiplied by it
  bool adds = false;               ///< to what the memory that it is written into holds
  bool lasting = false;            ///< found by types alone: it serves others of these types too
};
/// Nothing where the expression is of another kind, or no plan serves; and `why`.
std::optional<DensePlan> dense_plan(const Request& request, std::string& why);

}  // namespace strata::evaluation
