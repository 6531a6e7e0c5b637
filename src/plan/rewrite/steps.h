#pragma once
// Whole expressions as steps of others. (plan/expression says by which way.)
#include "plan/asked.h"

namespace strata::direct {

/// The result of an expression, by the first way that serves. As evaluate(): ExpressionError, DTypeError, TensorError.
Lazy planned(const Assignment& a, const Operands& operands, const Asked& asked);
/// What explain() says of it.
std::string explained(const Assignment& a, const Operands& operands, const Asked& asked);

}  // namespace strata::direct
