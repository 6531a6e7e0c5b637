#pragma once
// Arithmetic of single values: NumPy's, where NumPy has it; integers by zero give 0.
#include <cmath>

#include "ops/evaluate/column.h"

namespace strata::evaluation {

using Unsigned = std::uint64_t;

[[noreturn]] inline void refuse(Operator op, DType t) {
  throw DTypeError({.what = "'" + std::string(name_of(op)) + "' of " + std::string(name_of(t)) + " values",
                    .expected = is_complex(t) ? "real numbers" : "numbers",
                    .got = std::string(name_of(t))});
}

inline double floor_divide(double a, double b) {
  if (b == 0) return a / b;
  const double mod = std::fmod(a, b);
  double div = (a - mod) / b;
  if (mod != 0 && (b < 0) != (mod < 0)) div -= 1;
  if (div == 0) return std::copysign(0.0, a / b);
  const double floor = std::floor(div);
  return div - floor > 0.5 ? floor + 1 : floor;
}
inline double modulo(double a, double b) {
  const double mod = std::fmod(a, b);
  if (b == 0 || std::isnan(mod)) return mod;
  if (mod == 0) return std::copysign(0.0, b);
  return (b < 0) != (mod < 0) ? mod + b : mod;
}
inline std::int64_t floor_divide(std::int64_t a, std::int64_t b) {
  if (b == 0) return 0;
  if (b == -1) return static_cast<std::int64_t>(0 - static_cast<Unsigned>(a));
  return a / b - (a % b != 0 && (a % b < 0) != (b < 0));
}
inline std::int64_t modulo(std::int64_t a, std::int64_t b) {
  if (b == 0 || b == -1) return 0;
  const std::int64_t r = a % b;
  return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}
inline Unsigned floor_divide(Unsigned a, Unsigned b) { return b == 0 ? 0 : a / b; }
inline Unsigned modulo(Unsigned a, Unsigned b) { return b == 0 ? 0 : a % b; }

/// Integers add and multiply as unsigned ones: they wrap.
template <class T>
T add(T a, T b) {
  if constexpr (std::is_same_v<T, std::int64_t>)
    return static_cast<T>(static_cast<Unsigned>(a) + static_cast<Unsigned>(b));
  else
    return a + b;
}
template <class T>
T subtract(T a, T b) {
  if constexpr (std::is_same_v<T, std::int64_t>)
    return static_cast<T>(static_cast<Unsigned>(a) - static_cast<Unsigned>(b));
  else
    return a - b;
}
template <class T>
T multiply(T a, T b) {
  if constexpr (std::is_same_v<T, std::int64_t>)
    return static_cast<T>(static_cast<Unsigned>(a) * static_cast<Unsigned>(b));
  else if constexpr (std::is_same_v<T, Complex>)  // the plain formula, as NumPy: C++'s restores infinities
    return {a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real()};
  else
    return a * b;
}
/// NaN stays.
template <class T>
T smaller(T a, T b) {
  if constexpr (std::is_same_v<T, double>)
    return std::isnan(a) || a <= b ? a : b;
  else
    return a <= b ? a : b;
}
template <class T>
T larger(T a, T b) {
  if constexpr (std::is_same_v<T, double>)
    return std::isnan(a) || a >= b ? a : b;
  else
    return a >= b ? a : b;
}

}  // namespace strata::evaluation
