#pragma once
#include <cstdint>

namespace strata {

/// Where share `c` of `n` equal shares of `total` begins (share n: the end). What does not divide is spread over all
/// shares: rounded down at each and left to the last, it once was a seventh of a product's work. No product that a
/// large total would overflow.
constexpr std::int64_t begin_of_share(std::int64_t total, std::int64_t c, std::int64_t n) {
  return total / n * c + total % n * c / n;
}

}  // namespace strata
