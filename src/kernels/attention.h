#pragma once
#include <cstdint>
#include <span>

#include "strata/dtype.h"

namespace strata::kernels {

/// Matrices of queries, keys and values, one after another, in memory without gaps; f32 or f64.
struct AttentionOperands {
  const void *q, *k, *v;
  std::int64_t queries, keys, features, columns;  ///< of a matrix; of queries and keys; of values
  double scale;
  const void* bias;                       ///< for elements of patterns, added to the scores; or null
  std::span<const std::int64_t> bias_at;  ///< where the biases of each matrix start
  const void* hidden;                     ///< for each key of each matrix, added to the scores; or null
};

/// CSR patterns of so many queries each, one after another; which of them each matrix has.
struct AttentionPatterns {
  const std::int64_t* pos;
  const std::int32_t* crd;
  std::span<const std::int64_t> which;
};

/// out: softmax(scale * q @ k.T + bias) @ v over what the patterns store; of each row `one`: 1 / the sum of its
/// exponentials, 0 where nothing is stored or all of it is -inf; `top`: its largest score.
void attention(DType dtype, const AttentionPatterns& patterns, const AttentionOperands& operands, void* out, void* one,
               void* top);

}  // namespace strata::kernels
