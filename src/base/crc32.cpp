#include "base/crc32.h"

#include <array>
#include <cstring>

namespace strata {
namespace {

// Polynomials over GF(2) of degree below 32, the coefficient of x^k in bit 31 - k: multiplying by x shifts right.
constexpr std::uint32_t modulus = 0xEDB88320;
constexpr std::uint32_t one = 0x80000000;

constexpr std::uint32_t times_x(std::uint32_t p) { return (p >> 1) ^ (p & 1 ? modulus : 0); }

constexpr std::uint32_t times(std::uint32_t a, std::uint32_t b) {
  std::uint32_t product = 0;
  for (std::uint32_t bit = one; bit != 0; bit >>= 1, b = times_x(b))
    if (a & bit) product ^= b;
  return product;
}

/// Sixteen bytes are looked up at once: table k tells what a byte does that 15 - k others follow.
constexpr int lanes = 16;
using Tables = std::array<std::array<std::uint32_t, 256>, lanes>;

constexpr Tables make_tables() {
  Tables t{};
  for (std::uint32_t byte = 0; byte < 256; ++byte) {
    std::uint32_t p = byte;
    for (int bit = 0; bit < 8; ++bit) p = times_x(p);
    t[lanes - 1][byte] = p;
  }
  for (int k = lanes - 2; k >= 0; --k)
    for (std::uint32_t byte = 0; byte < 256; ++byte) {
      const std::uint32_t p = t[static_cast<std::size_t>(k) + 1][byte];
      t[static_cast<std::size_t>(k)][byte] = (p >> 8) ^ t[lanes - 1][p & 0xFF];
    }
  return t;
}

constexpr Tables tables = make_tables();

}  // namespace

std::uint32_t crc32(const void* data, std::size_t size, std::uint32_t before) {
  const auto* p = static_cast<const unsigned char*>(data);
  std::uint32_t crc = ~before;
  for (; size >= lanes; size -= lanes, p += lanes) {
    std::array<std::uint32_t, 4> words;
    std::memcpy(words.data(), p, lanes);
    words[0] ^= crc;
    crc = 0;
    for (std::size_t w = 0; w < 4; ++w)
      for (std::size_t b = 0; b < 4; ++b) crc ^= tables[4 * w + b][(words[w] >> (8 * b)) & 0xFF];
  }
  for (; size > 0; --size, ++p) crc = (crc >> 8) ^ tables[lanes - 1][(crc ^ *p) & 0xFF];
  return ~crc;
}

std::uint32_t crc32_combine(std::uint32_t first, std::uint32_t second, std::uint64_t second_size) {
  // Appending n bytes multiplies what came before by x^(8 n).
  std::uint32_t factor = one, power = one >> 8;  // x^8
  for (std::uint64_t n = second_size; n != 0; n >>= 1, power = times(power, power))
    if (n & 1) factor = times(factor, power);
  return times(factor, first) ^ second;
}

}  // namespace strata
