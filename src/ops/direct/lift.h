#pragma once
// Reductions inside of an expression, carried out before it.
#include <map>
#include <string>
#include <vector>

#include "strata/evaluate.h"

namespace strata::direct {

/// An elementwise tree, and the operands that it names: among them the reductions that stood in it.
struct Lifted {
  Expression value;
  std::map<std::string, Tensor> operands;
};

/// Thrown where a number under a quotient is the sum of no terms: it is absent, which no operand without indices can
/// say, and the general path knows.
struct SumOfNothing {};

/// `body` is a tree of an assignment with these indices, `options` have its result's format. `steps`: an explanation of
/// each reduction is added, in the order in which they are carried out.
Lifted lifted(const Expression& body, const std::vector<std::string>& indices,
              const std::map<std::string, Tensor>& operands, const EvaluateOptions& options,
              std::vector<std::string>* steps = nullptr);

}  // namespace strata::direct
