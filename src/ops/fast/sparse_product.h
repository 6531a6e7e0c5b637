#pragma once
// Sparse matrix times sparse matrix, row by row.
#include <optional>
#include <span>

#include "strata/evaluate.h"

namespace strata::fast {

/// The product of two sparse matrices, where `e` is one (any order of dimensions), in the inferred or the given format; nothing
/// where a detail does not fit: then the general path does the work.
std::optional<Tensor> sparse_product(const Einsum& e, std::span<const Tensor> operands, const EvaluateOptions& options);

}  // namespace strata::fast
