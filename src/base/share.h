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

/// Where share `c` of `n` of [0, size) begins, where what lies before x weighs weight(x), which never falls.
template <class F>
constexpr std::int64_t begin_of_weighed_share(std::int64_t size, std::int64_t c, std::int64_t n, const F& weight) {
  if (c <= 0 || c >= n) return c <= 0 ? 0 : size;
  const std::int64_t before = begin_of_share(weight(size), c, n);
  return partition_point(0, size, [&](std::int64_t x) { return weight(x) < before; });
}

}  // namespace strata
