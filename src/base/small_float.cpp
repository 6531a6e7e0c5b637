// Storage-only floats, bit for bit. One decoder and one encoder serve all layouts; bf16 is cut from f32.
#include "base/small_float.h"

#include <bit>
#include <cmath>
#include <limits>

#include "strata/dtype.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

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

namespace {

#if defined(__x86_64__)
constexpr std::int64_t together = 8;
bool has_f16c() {
  static const bool has = __builtin_cpu_supports("avx") && __builtin_cpu_supports("f16c");
  return has;
}
/// The first so many, in whole vectors. (The processor keeps what a NaN says, and we do not.)
__attribute__((target("avx,f16c"))) std::int64_t narrow_in_vectors(const float* from, std::uint16_t* to,
                                                                   std::int64_t n) {
  std::int64_t i = 0;
  for (; i + together <= n; i += together) {
    const __m256 v = _mm256_loadu_ps(from + i);
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to + i), _mm256_cvtps_ph(v, _MM_FROUND_TO_NEAREST_INT));
    if (_mm256_movemask_ps(_mm256_cmp_ps(v, v, _CMP_UNORD_Q)) != 0)
      for (std::int64_t k = i; k < i + together; ++k) to[k] = f32_to_f16(from[k]);
  }
  return i;
}
__attribute__((target("avx,f16c"))) std::int64_t widen_in_vectors(const std::uint16_t* from, float* to,
                                                                  std::int64_t n) {
  std::int64_t i = 0;
  for (; i + together <= n; i += together) {
    const __m256 v = _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from + i)));
    _mm256_storeu_ps(to + i, v);
    if (_mm256_movemask_ps(_mm256_cmp_ps(v, v, _CMP_UNORD_Q)) != 0)
      for (std::int64_t k = i; k < i + together; ++k) to[k] = f16_to_f32(from[k]);
  }
  return i;
}
#else
bool has_f16c() { return false; }
std::int64_t narrow_in_vectors(const float*, std::uint16_t*, std::int64_t) { return 0; }
std::int64_t widen_in_vectors(const std::uint16_t*, float*, std::int64_t) { return 0; }
#endif

}  // namespace

void f16_to_f32(const std::uint16_t* from, float* to, std::int64_t n) {
  for (std::int64_t i = has_f16c() ? widen_in_vectors(from, to, n) : 0; i < n; ++i) to[i] = f16_to_f32(from[i]);
}
void f32_to_f16(const float* from, std::uint16_t* to, std::int64_t n) {
  for (std::int64_t i = has_f16c() ? narrow_in_vectors(from, to, n) : 0; i < n; ++i) to[i] = f32_to_f16(from[i]);
}
void bf16_to_f32(const std::uint16_t* from, float* to, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) to[i] = bf16_to_f32(from[i]);
}
void f32_to_bf16(const float* from, std::uint16_t* to, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) to[i] = f32_to_bf16(from[i]);
}

}  // namespace strata
