#pragma once
// How much stack an expression takes: a thousand operations are allowed, and threads may have 256 KB.
#include <cstddef>

#include "backend/stack.h"

namespace strata {

/// For what follows a tree of this depth, and does the work that it asks for: some 0.8 KB a level are in use.
inline std::size_t stack_for(int depth) {
  return (std::size_t{128} << 10) + (std::size_t{2} << 10) * static_cast<std::size_t>(depth);
}

}  // namespace strata
