#pragma once
// Work on single elements inside of a product.
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "plan/asked.h"

namespace strata::direct {

/// The access of a sparse operand without whose elements a factor is missing too, and 0: A(i,j), but also A(i,j) != 0,
/// abs(A(i,j)).
std::optional<Expression> carrier_of(const Expression& factor, const Operands& operands);

/// Is a product with this factor, which holds no reduction, missing wherever the factor is?
bool hides(const Expression& factor, const Operands& operands);

/// Two or more factors of a product whose indices are those of one sparse operand: work on its elements alone.
struct Work {
  Expression value;
  std::vector<std::string> indices;  ///< as in that operand
  Format format;                     ///< that operand's
  std::optional<Expression> rest;    ///< the other factors: dense operands
  /// The work as an operand of its own, with a name that no user's looks like.
  Assignment as_operand(const Operands& operands) const;
};
std::optional<Work> work_of(const std::vector<Expression>& factors, const Operands& operands);

/// A(i,j) * exp(E(i,j)) * V(j,d): the work is done once an element, into A's pattern, and what is left is a product
/// that a kernel may be written for.
struct Folded {
  Assignment work, product;
  Format format;  ///< of the work: A's
};

/// `options` have the result's format, which is dense. Nothing where the expression is of another kind.
std::optional<Folded> folded(const Assignment& a, const Operands& operands, const Asked& options);

}  // namespace strata::direct
