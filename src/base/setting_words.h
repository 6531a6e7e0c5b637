#pragma once
// What the settings that are words or limited numbers may be; the same from the environment and from a program.
#include <algorithm>
#include <array>
#include <span>
#include <string>
#include <string_view>

namespace strata::words {

inline constexpr std::array<std::string_view, 5> engine{"auto", "kernels", "vendor", "jit", "interpreter"};
inline constexpr std::array<std::string_view, 4> jit{"auto", "clang", "subprocess", "off"};
inline constexpr std::array<std::string_view, 2> cache{"auto", "off"};
inline constexpr std::array<std::string_view, 4> dump{"graph", "schedule", "loops", "source"};
inline constexpr int most_threads = 4096;
inline constexpr long long most_int32 = 2147483647;

/// The words, for a message.
inline std::string list(std::span<const std::string_view> allowed) {
  std::string out;
  for (const auto word : allowed) out += (out.empty() ? "" : ", ") + std::string(word);
  return out;
}
inline bool holds(std::span<const std::string_view> allowed, std::string_view word) {
  return std::find(allowed.begin(), allowed.end(), word) != allowed.end();
}
/// Is each of these words, set off by commas, one of the allowed? No word is one, too.
inline bool holds_all(std::span<const std::string_view> allowed, std::string_view words) {
  if (words.empty()) return true;
  for (std::size_t at = 0; at != std::string_view::npos;) {
    const std::size_t comma = words.find(',', at);
    if (!holds(allowed, words.substr(at, comma == std::string_view::npos ? comma : comma - at))) return false;
    at = comma == std::string_view::npos ? comma : comma + 1;
  }
  return true;
}

}  // namespace strata::words
