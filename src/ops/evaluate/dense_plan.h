#pragma once
#include "ops/evaluate/ways.h"

namespace strata::evaluation {

/// One product, at most one of whose operands is sparse, into dense memory.
struct DensePlan {
  Plan plan;
  std::vector<std::string> names;  ///< of the operands in the plan's order
  std::vector<Tensor> operands;    ///< as the plan takes them
  Scalar factor;                   ///< what numbers among the factors come to: sums are multiplied by it
  Destination to;                  ///< with that
  bool lasting = false;            ///< does it serve others of these types too?
};
/// Nothing where the expression is of another kind, or no plan serves; and `why`.
std::optional<DensePlan> dense_plan(const Request& request, std::string& why);

}  // namespace strata::evaluation
