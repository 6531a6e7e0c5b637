// exp as a few lines that become part of the loop: a compiler makes vectors of them, and each lane has the same bits as
// a value alone. Below 1 ulp (every float tried; 30 million doubles). exp(x) = 2^n * exp(r), |r| <= log(2) / 2; the
// power comes in two halves, since n goes beyond the exponents of normal numbers on both sides.
#include "compiler/emit/prologue.h"

namespace strata {

namespace {

constexpr std::string_view body_f32 = R"(  f32 x = a < -104.0f ? -104.0f : a;
  x = x > 89.0f ? 89.0f : x;
  const f32 n = __builtin_fmaf(x, 0x1.715476p+0f, 0x1.8p23f) - 0x1.8p23f;
  const f32 r = __builtin_fmaf(n, 0x1.05c61p-29f, __builtin_fmaf(n, -0x1.62e43p-1f, x));
  f32 p = 0x1.6d1606p-10f;
  p = __builtin_fmaf(p, r, 0x1.12106cp-7f);
  p = __builtin_fmaf(p, r, 0x1.555516p-5f);
  p = __builtin_fmaf(p, r, 0x1.5554d8p-3f);
  p = __builtin_fmaf(p, r, 0.5f);
  p = __builtin_fmaf(__builtin_fmaf(p, r, 1.0f), r, 1.0f);
  const f32 half = __builtin_fmaf(n, 0.5f, 0x1.8p23f) - 0x1.8p23f;
  const f32 low = half + 12583039.0f, high = (n - half) + 12583039.0f; /* 1.5 * 2^23 + 127 */
)";

constexpr std::string_view body_f64 = R"(  f64 x = a < -746.0 ? -746.0 : a;
  x = x > 710.0 ? 710.0 : x;
  const f64 n = __builtin_fma(x, 0x1.71547652b82fep+0, 0x1.8p52) - 0x1.8p52;
  const f64 r = __builtin_fma(n, -0x1.abc9e3b39803fp-56, __builtin_fma(n, -0x1.62e42fefa39efp-1, x));
  f64 p = 2.091533048022752e-09;
  p = __builtin_fma(p, r, 2.510619542001858e-08);
  p = __builtin_fma(p, r, 2.7557271309285966e-07);
  p = __builtin_fma(p, r, 2.7557253019800556e-06);
  p = __builtin_fma(p, r, 2.480158732860082e-05);
  p = __builtin_fma(p, r, 0.00019841269876739274);
  p = __builtin_fma(p, r, 0.0013888888888882196);
  p = __builtin_fma(p, r, 0.008333333333325562);
  p = __builtin_fma(p, r, 0.04166666666666667);
  p = __builtin_fma(p, r, 0.1666666666666667);
  p = __builtin_fma(p, r, 0.5);
  p = __builtin_fma(__builtin_fma(p, r, 1.0), r, 1.0);
  const f64 half = __builtin_fma(n, 0.5, 0x1.8p52) - 0x1.8p52;
  const f64 low = half + 6755399441056767.0, high = (n - half) + 6755399441056767.0; /* 1.5 * 2^52 + 1023 */
)";

/// p times both halves of the power, whose exponents stand in the last bits of `low` and `high`.
std::string scaled(const std::string& value, const std::string& word, const std::string& mantissa) {
  return "  " + word +
         " i, j;\n  __builtin_memcpy(&i, &low, sizeof i);\n  __builtin_memcpy(&j, &high, sizeof j);\n  i <<= " +
         mantissa + ";\n  j <<= " + mantissa + ";\n  " + value +
         " s, t;\n  __builtin_memcpy(&s, &i, sizeof s);\n  __builtin_memcpy(&t, &j, sizeof t);\n  return p * s * t;\n";
}

}  // namespace

std::string Prologue::exponential(DType t) {
  const bool narrow = t == DType::f32;
  return elementary("exp", t,
                    std::string(narrow ? body_f32 : body_f64) +
                        scaled(type(t), type(narrow ? DType::u32 : DType::u64), narrow ? "23" : "52"));
}

std::string Prologue::elementary(const std::string& name, DType t, std::string_view body) {
  const std::string v = type(t);
  type(t == DType::f32 ? DType::u32 : DType::u64);  // the bits that the lines work on
  return add(name + "_" + v, v, v + " a",
             "#if defined(__FMA__) || defined(__aarch64__)\n" + std::string(body) + "#else\n  return __builtin_" +
                 name + (t == DType::f32 ? "f" : "") + "(a);\n#endif\n");
}

}  // namespace strata
