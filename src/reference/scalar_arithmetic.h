#pragma once
// Arithmetic of single values: NumPy's, where NumPy has it; integers by zero give 0.
#include <cmath>

#include "base/division.h"
#include "reference/column.h"

namespace strata::evaluation {

using Unsigned = std::uint64_t;

[[noreturn]] inline void refuse(Operator op, DType t) {
  throw DTypeError({.what = "'" + std::string(name_of(op)) + "' of " + std::string(name_of(t)) + " values",
                    .expected = is_complex(t) ? "real numbers" : "numbers",
                    .got = std::string(name_of(t))});
}

/// Integers add and multiply as unsigned ones: they wrap.
template <class T>
T add(T a, T b) {
  if constexpr (std::is_same_v<T, std::int64_t>)
    return static_cast<T>(static_cast<Unsigned>(a) + static_cast<Unsigned>(b));
  else return a + b;
}
template <class T>
T subtract(T a, T b) {
  if constexpr (std::is_same_v<T, std::int64_t>)
    return static_cast<T>(static_cast<Unsigned>(a) - static_cast<Unsigned>(b));
  else return a - b;
}
template <class T>
T multiply(T a, T b) {
  if constexpr (std::is_same_v<T, std::int64_t>)
    return static_cast<T>(static_cast<Unsigned>(a) * static_cast<Unsigned>(b));
  else if constexpr (std::is_same_v<T, Complex>)  // the plain formula, as NumPy: C++'s restores infinities
    return {a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real()};
  else return a * b;
}
/// NaN stays.
template <class T>
T smaller(T a, T b) {
  if constexpr (std::is_same_v<T, double>) return std::isnan(a) || a <= b ? a : b;
  else return a <= b ? a : b;
}
template <class T>
T larger(T a, T b) {
  if constexpr (std::is_same_v<T, double>) return std::isnan(a) || a >= b ? a : b;
  else return a >= b ? a : b;
}

}  // namespace strata::evaluation
