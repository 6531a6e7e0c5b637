#pragma once
#include "plan/asked.h"

namespace strata::evaluation {

/// Y(b,n,h) = X(b,n,d) * W(n,d,h): every row of a sparse tensor of rows times the matrix that its coordinates choose.
struct BlockProduct {
  std::string rows;            ///< the sparse operand
  Lazy matrices;               ///< the dense one, with a stride per dimension
  std::vector<int> choosing;   ///< per dimension of `matrices`: the dimension of `rows` that counts it, or -1
  int depth = 0, columns = 0;  ///< dimensions of `matrices`: what is summed, and what the result's rows count
  std::int64_t count = 0;      ///< of the matrices
};

/// The sum over the dense last level of one sparse operand, into a result of the same pattern. Otherwise nothing, and
/// why.
std::optional<BlockProduct> as_block_product(const Assignment& a, const Operands& operands, const Asked& options,
                                             std::string& why);
/// Its result. Nothing where as_block_product() says nothing; `otherwise` where values turn out not to be contiguous.
std::optional<Lazy> block_product(const Assignment& a, const Operands& operands, const Asked& options,
                                  const std::function<Lazy()>& otherwise, std::string& why);

}  // namespace strata::evaluation
