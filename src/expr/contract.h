#pragma once
// The order of a product of many: pairs whose common indices nobody else needs are multiplied and summed first.
#include <functional>
#include <optional>

#include "strata/expression.h"

namespace strata {

struct ContractionFactor {
  Expression expression;
  double rows = 1;  ///< elements, as far as known
  std::vector<std::string> indices;
  std::optional<DType> dtype;  ///< where it is known to be an operand
};

struct Contraction {
  Expression body;
  double together = 0,
         apart = 0;  ///< multiply-adds in one nest of loops, and in these pairs; equal where nothing changed
};

/// `body` is summed over `reduced`: sums that may be carried out earlier and promise fewer rows are, and leave
/// `reduced`' indices to themselves. Only products of three or more operands, and pairs that are of the whole's dtype:
/// others would round or wrap differently.
Contraction contract(const Expression& body, const std::vector<std::string>& reduced, bool implicit,
                     const std::function<ContractionFactor(const Expression&)>& describe,
                     const std::function<double(const std::string&)>& extent);

}  // namespace strata
