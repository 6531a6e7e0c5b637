#pragma once
// SHA-256 (FIPS 180-4): names and verifies compiled kernels.
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace strata {

using Digest = std::array<std::uint8_t, 32>;

class Sha256 {
 public:
  void add(const void* data, std::size_t size);
  void add(std::string_view text) { add(text.data(), text.size()); }
  /// Adds the length first, so that ("ab", "c") and ("a", "bc") differ.
  void add_field(std::string_view text);
  Digest finish();

 private:
  void block(const std::uint8_t* bytes);
  std::array<std::uint32_t, 8> state_ = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                         0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  std::array<std::uint8_t, 64> pending_{};
  std::uint64_t size_ = 0;
};

Digest sha256(std::string_view text);
/// 64 lower-case hexadecimal digits.
std::string to_hex(const Digest& digest);

}  // namespace strata
