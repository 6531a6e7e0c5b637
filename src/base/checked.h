#pragma once
// Size arithmetic that cannot wrap: no size is believed before it is checked.
#include <cstdint>
#include <optional>
#include <span>

namespace strata {

__extension__ using Int128 = __int128;  ///< for sums and products of sizes that are compared with a limit

inline std::optional<std::int64_t> checked_mul(std::int64_t a, std::int64_t b) {
  std::int64_t r;
  if (__builtin_mul_overflow(a, b, &r)) return std::nullopt;
  return r;
}
inline std::optional<std::int64_t> checked_add(std::int64_t a, std::int64_t b) {
  std::int64_t r;
  if (__builtin_add_overflow(a, b, &r)) return std::nullopt;
  return r;
}
/// The product of extents; empty where it exceeds int64. A zero extent makes it 0 whatever else stands there.
inline std::optional<std::int64_t> checked_product(std::span<const std::int64_t> extents) {
  for (auto e : extents)
    if (e == 0) return 0;
  std::int64_t r = 1;
  for (auto e : extents)
    if (__builtin_mul_overflow(r, e, &r)) return std::nullopt;
  return r;
}
/// Floor division and the matching non-negative remainder, b > 0.
constexpr std::int64_t floor_div(std::int64_t a, std::int64_t b) { return a / b - ((a % b) < 0); }
constexpr std::int64_t floor_mod(std::int64_t a, std::int64_t b) { return a % b + ((a % b) < 0 ? b : 0); }
constexpr std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return floor_div(a + b - 1, b); }

}  // namespace strata
