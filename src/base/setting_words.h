#pragma once
// What the settings that are words or limited numbers may be; the same from the environment and from a program.
#include <array>
#include <string_view>

namespace strata::words {

inline constexpr std::array<std::string_view, 5> engine{"auto", "kernels", "vendor", "jit", "interpreter"};
inline constexpr std::array<std::string_view, 4> jit{"auto", "clang", "subprocess", "off"};
inline constexpr std::array<std::string_view, 2> cache{"auto", "off"};
inline constexpr int most_threads = 4096;
inline constexpr long long most_int32 = 2147483647;

}  // namespace strata::words
