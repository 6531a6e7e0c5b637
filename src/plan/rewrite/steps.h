#pragma once
// Whole expressions as steps of others. (plan/expression says by which way.)
#include "plan/asked.h"

namespace strata::direct {

/// A result, and what explain() says of the way to it: written when somebody asks.
struct Explained {
  Lazy lazy;
  std::function<std::string()> text;
};

/// The result of an expression, by the first way that serves. As evaluate(): ExpressionError, DTypeError, TensorError.
Explained planned(const Assignment& a, const Operands& operands, const Asked& asked);

}  // namespace strata::direct
