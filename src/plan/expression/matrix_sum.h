#pragma once
#include "plan/asked.h"

namespace strata::evaluation {

/// A(i,j) + B(i,j) - C(i,j), from left to right.
struct MatrixSum {
  std::vector<std::string> terms;
  std::vector<char> minus;  ///< per term; never the first
};

/// A sum of CSR matrices (or of CSC ones) of one dtype, into their format, where the processor has the instructions for
/// it. Otherwise nothing, and why.
std::optional<MatrixSum> as_matrix_sum(const Assignment& a, const Operands& operands, const Asked& options,
                                       std::string& why);
/// Its result. Nothing where as_matrix_sum() says nothing; `otherwise` where an operand's values turn out to be
/// strided, or too many for its positions.
std::optional<Lazy> matrix_sum(const Assignment& a, const Operands& operands, const Asked& options,
                               const std::function<Lazy()>& otherwise, std::string& why);

}  // namespace strata::evaluation
