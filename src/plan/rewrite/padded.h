#pragma once
// Padded accesses: `X(i + k - 1?, j)` reads the fill where the index leaves the dimension.
#include <map>
#include <optional>
#include <string>

#include "plan/asked.h"

namespace strata::evaluation {

bool has_padding(const Expression& e);

struct WithPadding {
  Assignment assignment;
  Operands operands;
  Asked options;
};

/// Each padded access as one that stays inside: of the part of its operand that it reads, with the fill around it,
/// which is called X[-1:9,:]. Nothing where there is none. In a semiring the fill around an operand is absent, a dense
/// one's too, and the result is still as dense as it would be. ExpressionError: an access that reaches too far.
std::optional<WithPadding> with_padding(const Assignment& a, const Operands& operands, const Asked& options);

}  // namespace strata::evaluation
