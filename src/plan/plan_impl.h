#pragma once
#include "plan/product.h"

namespace strata {

namespace planning {

/// What was decided for a product.
struct Choice {
  Product product;
  RunnerPtr runner;
  std::vector<Report> reports;
  Part fresh;             ///< a fresh dense output without its memory
  std::int64_t size = 0;  ///< elements of a dense output
};
using ChoicePtr = std::shared_ptr<const Choice>;

/// The choice for this structure, from the cache where it was made before.
ChoicePtr choice_for(const Einsum& e, std::span<const TensorType> operands, const TensorType& output, DType compute);

/// The dtypes that options ask for, or the rules give.
struct DTypes {
  DType output, compute;
};
DTypes dtypes_for(std::span<const TensorType> operands, const PlanOptions& options);

std::string explain(const Einsum& e, const Choice& choice);

/// The plan, where it serves these operands; otherwise the same for their types: how positions and coordinates of what
/// was made on the way are stored is known when they are counted.
Plan fitted(const Plan& plan, std::span<const Tensor> operands);

}  // namespace planning

struct Plan::Impl {
  Einsum expression;  ///< as written; the choice's is in normal form
  std::vector<TensorType> types;
  planning::ChoicePtr choice;
};

}  // namespace strata
