#pragma once
#include "plan/asked.h"

namespace strata::evaluation {

/// The transpose that `B(j,i) = A(i,j)` is, and the format it is to have.
struct Conversion {
  std::string operand;
  std::vector<int> order;  ///< dimension d of the result is the operand's dimension order[d]
  Format format;
};

/// One operand as it is, its dimensions in any order: nothing to compute. Otherwise nothing, and why.
std::optional<Conversion> as_conversion(const Assignment& a, const Operands& operands, const Asked& options,
                                        std::string& why);
/// Its result, whose values are memory of its own. Nothing where as_conversion() says nothing.
std::optional<Lazy> converted(const Assignment& a, const Operands& operands, const Asked& options, std::string& why);

}  // namespace strata::evaluation
