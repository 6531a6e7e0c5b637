#pragma once
#include <cstdint>

#include "compiler/merge/merge.h"
#include "strata/buffer.h"

namespace strata::execution {

/// to[k] = to[k] (+) from[k], or from[k] (+) to[k], for k in [begin, end), as generated code combines values of this
/// dtype.
void combine_some(DType dtype, merging::Combine combine, void* to, const void* from, std::int64_t begin,
                  std::int64_t end, bool from_first = false);
/// Several results of `size` values, one behind the other, become what all of them make, in their order; a number in
/// pairs and, of narrow floats, in double precision.
void combine_results(Buffer& results, std::int64_t size, merging::Combine combine);

}  // namespace strata::execution
