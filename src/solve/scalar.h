#pragma once
// The four element types that systems are solved in.
#include <cmath>
#include <complex>
#include <limits>
#include <type_traits>

#include "strata/dtype.h"

namespace strata::solving {

template <class T> struct RealOf {
  using type = T;
};
template <class R> struct RealOf<std::complex<R>> {
  using type = R;
};
template <class T> using Real = typename RealOf<T>::type;
template <class T> inline constexpr bool is_complex_v = !std::is_same_v<T, Real<T>>;
/// What sums are kept in: float32 in float64.
template <class T> using Wide = std::conditional_t<is_complex_v<T>, std::complex<double>, double>;
template <class T> inline constexpr double epsilon = std::numeric_limits<Real<T>>::epsilon();

template <class T> T conjugate(T x) {
  if constexpr (is_complex_v<T>) return std::conj(x);
  else return x;
}
template <class T> double real_part(T x) {
  if constexpr (is_complex_v<T>) return static_cast<double>(x.real());
  else return static_cast<double>(x);
}
template <class T> double magnitude(T x) { return static_cast<double>(std::abs(x)); }
template <class T> double square(T x) {
  if constexpr (is_complex_v<T>)
    return static_cast<double>(x.real()) * static_cast<double>(x.real()) +
           static_cast<double>(x.imag()) * static_cast<double>(x.imag());
  else return static_cast<double>(x) * static_cast<double>(x);
}
template <class T> bool is_finite(T x) {
  if constexpr (is_complex_v<T>) return std::isfinite(x.real()) && std::isfinite(x.imag());
  else return std::isfinite(x);
}
/// a * b as written out: the library's product of complex numbers looks for infinities first.
template <class T> T times(T a, T b) {
  if constexpr (is_complex_v<T>)
    return {a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real()};
  else return a * b;
}

/// The dtype that a matrix of this one is solved in.
inline DType solved_in(DType t) {
  if (is_complex(t) || t == DType::f64 || t == DType::f32) return t;
  return is_float(t) ? DType::f32 : DType::f64;
}
template <class F> auto with_scalar(DType t, F&& f) {
  switch (t) {
    case DType::f32: return f(float{});
    case DType::c64: return f(std::complex<float>{});
    case DType::c128: return f(std::complex<double>{});
    default: return f(double{});
  }
}

}  // namespace strata::solving
