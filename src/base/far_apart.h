#pragma once
#include <cstdint>

namespace strata {

/// Of 64 samples, do more than a quarter find nothing within `near` among the 128 elements before? No, where there are
/// too few to tell.
template <class C> bool many_alone(const C* crd, std::int64_t stored, std::int64_t near) {
  constexpr std::int64_t samples = 64, window = 128;
  if (stored < samples * window) return false;
  std::int64_t alone = 0;
  for (std::int64_t s = 1; s < samples && alone <= samples / 4; ++s) {
    const C* at = crd + stored / samples * s;
    bool found = false;
    for (std::int64_t q = 1; q <= window && !found; ++q) {
      const std::int64_t apart = static_cast<std::int64_t>(at[0]) - static_cast<std::int64_t>(at[-q]);
      found = apart <= near && -apart <= near;
    }
    alone += !found;
  }
  return alone > samples / 4;
}

/// Do the coordinates of neighbouring elements lie far apart? (Rows of a mesh follow those of the row before, and the
/// caches keep up; without an order each element is a miss.)
template <class C> bool far_apart(const C* crd, std::int64_t stored) { return many_alone(crd, stored, 63); }

/// Do they follow those of the row before, or each other, as in a mesh or in blocks?
template <class C> bool in_step(const C* crd, std::int64_t stored) { return !many_alone(crd, stored, 1); }

}  // namespace strata
