#pragma once
// The general path (design 6.2): any expression over any formats, into any format. Right before it is fast; the check
// of what is fast.
#include <map>
#include <optional>
#include <string>

#include "strata/expr.h"
#include "strata/expression.h"
#include "strata/semiring.h"
#include "strata/tensor.h"

namespace strata {

struct EvaluateOptions {
  std::optional<Format> format = {};  ///< of the result; inferred as result_format says where not given
  std::optional<DType> dtype = {};    ///< of the result; NumPy's promotion where not given
  Semiring semiring = Semiring::plus_times;
  /// Structural: the result has elements only where the mask has. Of a sparse mask its stored elements, without
  /// fill-in; of a dense one those that are not 0.
  std::optional<Tensor> mask = {};
  bool complement_mask = false;  ///< elements only where the mask has none, as GraphBLAS's complemented mask
};

/// Evaluates on tensors by name. Cost follows the stored elements wherever the expression lets it. ExpressionError,
/// DTypeError, TensorError (a format that cannot hold the result).
Tensor evaluate(const Assignment& a, const std::map<std::string, Tensor>& operands,
                const EvaluateOptions& options = {});
Tensor evaluate(std::string_view text, const std::map<std::string, Tensor>& operands,
                const EvaluateOptions& options = {});

/// The einsum as an assignment over operands "A", "B", ... (beyond the 26th "T26", ...).
Assignment to_assignment(const Einsum& e);
std::string operand_name(std::size_t k);
Tensor evaluate(const Einsum& e, std::span<const Tensor> operands, const EvaluateOptions& options = {});

/// The format that a result gets, and why (design 4).
struct ResultFormat {
  Format format;
  std::string why;
};
ResultFormat result_format(const Assignment& a, const std::map<std::string, TensorType>& operands);

}  // namespace strata
