// log as a few lines that become part of the loop, as exp is. Below 0.85 ulp (every seventh float tried; 20 million
// doubles). x = 2^e * m, 1/sqrt(2) <= m < sqrt(2), and log(m) = 2 artanh(s) for s = (m - 1) / (m + 1): f - (f^2/2 - s *
// (f^2/2 + z * P(z))), f = m - 1, z = s^2.
#include "compiler/emit/elementary.h"

namespace strata {

namespace {

constexpr std::string_view body_f32 = R"(  const f32 x = a < 0x1p-126f ? a * 0x1p25f : a;
  u32 u;
  __builtin_memcpy(&u, &x, sizeof u);
  u += 0x3f800000u - 0x3f3504f3u;
  const f32 e = (f32)(i32)(u >> 23) - (a < 0x1p-126f ? 152.0f : 127.0f);
  u = (u & 0x7fffffu) + 0x3f3504f3u;
  f32 m;
  __builtin_memcpy(&m, &u, sizeof m);
  const f32 f = m - 1.0f, s = f / (2.0f + f), z = s * s, h = 0.5f * f * f;
  f32 p = 0.2358215328771864f;
  p = __builtin_fmaf(p, z, 0.2853730841727468f);
  p = __builtin_fmaf(p, z, 0.4000033519335061f);
  p = __builtin_fmaf(p, z, 0.6666666564544173f);
  const f32 r = __builtin_fmaf(e, 0x1.62e3p-1f, -((h - __builtin_fmaf(s, __builtin_fmaf(p, z, h), e * 0x1.2fefa2p-17f)) - f));
  return a > 0 ? (a < __builtin_inff() ? r : a) : a == 0 ? -__builtin_inff() : __builtin_nanf("");
)";

constexpr std::string_view body_f64 = R"(  const f64 x = a < 0x1p-1022 ? a * 0x1p54 : a;
  u64 u;
  __builtin_memcpy(&u, &x, sizeof u);
  u += 0x3ff0000000000000u - 0x3fe6a09e667f3bcdu;
  const u64 w = (u >> 52) | 0x4330000000000000u; /* 2^52 + its exponent */
  u = (u & 0xfffffffffffffu) + 0x3fe6a09e667f3bcdu;
  f64 m, e;
  __builtin_memcpy(&m, &u, sizeof m);
  __builtin_memcpy(&e, &w, sizeof e);
  e -= a < 0x1p-1022 ? 0x1p52 + 1077.0 : 0x1p52 + 1023.0;
  const f64 f = m - 1.0, s = f / (2.0 + f), z = s * s, h = 0.5 * f * f;
  f64 p = 0.14795953483985747;
  p = __builtin_fma(p, z, 0.15314050166660398);
  p = __builtin_fma(p, z, 0.18183564342034672);
  p = __builtin_fma(p, z, 0.22222198572844437);
  p = __builtin_fma(p, z, 0.2857142874239155);
  p = __builtin_fma(p, z, 0.39999999999414654);
  p = __builtin_fma(p, z, 0.6666666666666734);
  const f64 r = __builtin_fma(e, 0x1.62e42fefa38p-1, -((h - __builtin_fma(s, __builtin_fma(p, z, h), e * 0x1.ef35793c7673p-45)) - f));
  return a > 0 ? (a < __builtin_inf() ? r : a) : a == 0 ? -__builtin_inf() : __builtin_nan("");
)";

}  // namespace

std::string_view logarithm_lines(DType t) { return t == DType::f32 ? body_f32 : body_f64; }

}  // namespace strata
