// Storage-only floats, bit for bit. One decoder and one encoder serve all layouts; bf16 is cut from f32.
#include <bit>
#include <cmath>
#include <limits>

#include "strata/dtype.h"

namespace strata {
namespace {

/// A small IEEE-like layout: sign, exponent, mantissa.
struct Layout {
  int mantissa, exponent_bits, bias;
  std::uint32_t largest;  ///< bits of the largest finite magnitude
  std::uint32_t nan;      ///< bits of the NaN to store
  bool infinity;          ///< has infinities (then overflow rounds to them unless `saturate`)
  bool saturate;
};
constexpr Layout half{10, 5, 15, 0x7BFF, 0x7E00, true, false};
constexpr Layout e4m3{3, 4, 7, 0x7E, 0x7F, false, true};
constexpr Layout e5m2{2, 5, 15, 0x7B, 0x7E, true, true};

float decode(const Layout& f, std::uint32_t bits) {
  const int width = f.mantissa + f.exponent_bits;
  const bool negative = (bits >> width) & 1;
  const std::uint32_t magnitude = bits & ((1u << width) - 1);
  const std::uint32_t mantissa = magnitude & ((1u << f.mantissa) - 1);
  const int exponent = static_cast<int>(magnitude >> f.mantissa);
  float value;
  if (magnitude > f.largest)
    value =
        f.infinity && mantissa == 0 ? std::numeric_limits<float>::infinity() : std::numeric_limits<float>::quiet_NaN();
  else if (exponent == 0) value = std::ldexp(static_cast<float>(mantissa), 1 - f.bias - f.mantissa);
  else value = std::ldexp(static_cast<float>(mantissa | (1u << f.mantissa)), exponent - f.bias - f.mantissa);
  return negative ? -value : value;
}

std::uint32_t encode(const Layout& f, float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t sign = (bits >> 31) << (f.mantissa + f.exponent_bits);
  const std::uint32_t magnitude = bits & 0x7FFFFFFFu;
  if (magnitude > 0x7F800000u) return sign | f.nan;
  const std::uint32_t overflow = f.infinity && !f.saturate ? f.largest + 1 : f.largest;
  if (magnitude == 0x7F800000u) return sign | overflow;
  const int exponent = static_cast<int>(magnitude >> 23) - 127 + f.bias;  // in the small layout
  const std::uint32_t mantissa = (magnitude & 0x7FFFFFu) | (magnitude >> 23 ? 0x800000u : 0);
  // Bits below the small mantissa that are rounded away; a subnormal loses more of them.
  const int drop = 23 - f.mantissa + (exponent >= 1 ? 0 : 1 - exponent);
  if (drop > 25) return sign;
  std::uint32_t kept = mantissa >> drop;
  const std::uint32_t rest = mantissa & ((1u << drop) - 1), middle = 1u << (drop - 1);
  if (rest > middle || (rest == middle && (kept & 1))) ++kept;
  if (exponent >= 1) {
    const std::int64_t r =
        (static_cast<std::int64_t>(exponent - 1) << f.mantissa) + kept;  // the leading one adds an exponent step
    return sign | (r > f.largest ? overflow : static_cast<std::uint32_t>(r));
  }
  return sign | kept;
}

}  // namespace

float f16_to_f32(std::uint16_t bits) { return decode(half, bits); }
std::uint16_t f32_to_f16(float value) { return static_cast<std::uint16_t>(encode(half, value)); }
float f8e4m3_to_f32(std::uint8_t bits) { return decode(e4m3, bits); }
std::uint8_t f32_to_f8e4m3(float value) { return static_cast<std::uint8_t>(encode(e4m3, value)); }
float f8e5m2_to_f32(std::uint8_t bits) { return decode(e5m2, bits); }
std::uint8_t f32_to_f8e5m2(float value) { return static_cast<std::uint8_t>(encode(e5m2, value)); }

float bf16_to_f32(std::uint16_t bits) { return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16); }
std::uint16_t f32_to_bf16(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  if ((bits & 0x7FFFFFFFu) > 0x7F800000u) return static_cast<std::uint16_t>((bits >> 16) | 0x40);  // a NaN stays one
  return static_cast<std::uint16_t>((bits + 0x7FFFu + ((bits >> 16) & 1)) >> 16);
}

}  // namespace strata
