#pragma once
#include <cstdint>

namespace strata {

/// Where share `c` of `n` equal shares of `total` begins (share n: the end). What does not divide is spread over all
/// shares: rounded down at each and left to the last, it once was a seventh of a product's work. No product that a
/// large total would overflow.
constexpr std::int64_t begin_of_share(std::int64_t total, std::int64_t c, std::int64_t n) {
  return total / n * c + total % n * c / n;
}

/// The first of [low, high) that is not `before`, as all behind it are not; high where there is none.
template <class F>
constexpr std::int64_t partition_point(std::int64_t low, std::int64_t high, const F& before) {
  while (low < high) {
    const std::int64_t middle = low + (high - low) / 2;
    if (before(middle)) low = middle + 1;
    else high = middle;
  }
  return low;
}

}  // namespace strata
