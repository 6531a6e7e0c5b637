#pragma once
// Indices as values: `A(i,j) * (i > j)`.
#include <map>
#include <optional>
#include <string>

#include "plan/asked.h"
#include "strata/expression.h"

namespace strata::evaluation {

struct WithIndexValues {
  Assignment assignment;
  Operands operands;
};

/// Each index that stands for its value, and has no operand of its name, as a dense vector of int64: 0, 1, 2, ...
/// Nothing where there is none. ExpressionError where such an index has no value.
std::optional<WithIndexValues> with_index_values(const Assignment& a, const Operands& operands);

}  // namespace strata::evaluation
