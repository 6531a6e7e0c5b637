#pragma once
#include <cstdint>

#include "compiler/merge/merge.h"

namespace strata::execution {

/// to[k] = to[k] (+) from[k], or from[k] (+) to[k], for k in [begin, end), as generated code combines values of this
/// dtype.
void combine_some(DType dtype, merging::Combine combine, void* to, const void* from, std::int64_t begin,
                  std::int64_t end, bool from_first = false);

}  // namespace strata::execution
