#pragma once
#include <cstdint>

namespace strata {

/// Do the coordinates of neighbouring elements lie far apart? Of samples: is anything of the 128 elements before within 64?
/// (Rows of a mesh follow those of the row before, and the caches keep up; without an order each element is a miss.)
template <class C> bool far_apart(const C* crd, std::int64_t stored) {
  constexpr std::int64_t samples = 64, window = 128, near = 64;
  if (stored < samples * window) return false;
  std::int64_t alone = 0;
  for (std::int64_t s = 1; s < samples; ++s) {
    const C* at = crd + stored / samples * s;
    bool found = false;
    for (std::int64_t q = 1; q <= window; ++q) {
      const std::int64_t apart = static_cast<std::int64_t>(at[0]) - static_cast<std::int64_t>(at[-q]);
      found |= apart < near && -apart < near;
    }
    alone += !found;
  }
  return alone > samples / 4;
}

}  // namespace strata
