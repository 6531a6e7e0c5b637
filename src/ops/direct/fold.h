#pragma once
// Work on single elements inside of a product.
#include <map>
#include <optional>
#include <string>

#include "strata/evaluate.h"

namespace strata::direct {

/// Elementwise work on the elements of one sparse tensor, times dense operands: A(i,j) * exp(E(i,j)) * V(j,d). The work is
/// done once an element, into A's pattern, and what is left is a product that a plan serves.
struct Folded {
  Assignment work, product;
  Format format;  ///< of the work: A's
};

/// `options` have the result's format. Nothing where the expression is of another kind.
std::optional<Folded> folded(const Assignment& a, const std::map<std::string, Tensor>& operands, const EvaluateOptions& options);

}  // namespace strata::direct
