#include "compiler/emit/literal.h"

#include <charconv>
#include <cmath>
#include <cstdio>

#include "strata/error.h"

namespace strata {
namespace {

std::string float_literal(const Scalar& s) {
  const bool single = s.dtype == DType::f32;
  const double v = s.to_double();
  const std::string suffix = single ? "f" : "";
  if (std::isnan(v)) {
    // Quiet, with the payload that it has.
    std::uint64_t bits = 0;
    std::memcpy(&bits, s.bits, size_of(s.dtype));
    char text[64];
    std::snprintf(text, sizeof text, "__builtin_nan%s(\"0x%llx\")", suffix.c_str(),
                  static_cast<unsigned long long>(single ? bits & 0x3fffff : bits & 0x7ffffffffffff));
    return std::signbit(v) ? "-" + std::string(text) : text;
  }
  if (std::isinf(v)) return (v < 0 ? "-__builtin_inf" : "__builtin_inf") + suffix + "()";
  char buffer[64];
  const auto r = single ? std::to_chars(buffer, buffer + sizeof buffer, static_cast<float>(v))
                        : std::to_chars(buffer, buffer + sizeof buffer, v);
  std::string text(buffer, r.ptr);
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return text + suffix;
}

}  // namespace

std::string literal(const Scalar& s) {
  if (is_float(s.dtype)) return float_literal(s);
  if (s.dtype == DType::boolean) return s.bits[0] != 0 ? "1" : "0";
  if (s.dtype == DType::u64 || s.dtype == DType::u32) {
    std::uint64_t v = 0;
    std::memcpy(&v, s.bits, size_of(s.dtype));
    return std::to_string(v) + (v <= INT32_MAX ? "" : s.dtype == DType::u64 ? "ull" : "u");
  }
  if (!is_integer(s.dtype)) throw InternalError("emit: a literal of " + std::string(name_of(s.dtype)));
  const std::int64_t v = s.to_int64();
  // C has no negative literals: the least value would overflow on its way.
  if (v == INT64_MIN) return "(-9223372036854775807 - 1)";
  if (v == INT32_MIN) return "(-2147483647 - 1)";
  return std::to_string(v);
}

}  // namespace strata
