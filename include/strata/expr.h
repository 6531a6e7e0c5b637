#pragma once
// What to compute, without saying how: sums of products in einsum notation.
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "strata/tensor.h"

namespace strata {

inline constexpr int max_operands = 256;  ///< of one einsum: planning takes time with their square

/// out(output indices) += product of operand(indices), summed over every index that the output lacks.
/// Indices are small integers; extents[i] is the extent of index i.
struct Einsum {
  std::vector<std::vector<int>> operands;  ///< per operand: the index of each dimension (repeats allowed: a diagonal)
  std::vector<int> output;                 ///< index of each output dimension (no repeats)
  std::vector<char> conjugate;             ///< per operand: take the complex conjugate
  int num_indices = 0;
  std::vector<std::string> names;  ///< of the indices, for messages and printing
  bool operator==(const Einsum&) const = default;
  std::string to_string() const;  ///< "C(i,k) = A(i,j) * B(j,k)"
};

/// NumPy's einsum text: explicit or implicit output, ellipsis, repeated indices, white space. `ranks`: of the operands.
/// ExpressionError with carets: what does not fit.
Einsum parse_einsum(std::string_view text, std::span<const int> ranks);
/// Index notation of one product: "C(i,k) = A(i,j) * B(j,k)"; operand names in order of appearance in `operand_names`.
Einsum parse_index_notation(std::string_view text, std::vector<std::string>& operand_names);
/// Extent of each index from the operands' shapes; ExpressionError where two differ (a 1 broadcasts against n, as in
/// NumPy).
std::vector<std::int64_t> index_extents(const Einsum& e, std::span<const Shape> shapes);
Shape output_shape(const Einsum& e, std::span<const Shape> shapes);

}  // namespace strata
