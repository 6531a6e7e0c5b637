#pragma once
// Arithmetic, element by element, and what std::cout prints.
#include <concepts>
#include <iosfwd>

#include "strata/evaluate.h"

namespace strata {

/// Element by element, as NumPy's of two arrays: shapes broadcast, dtypes promote. The result is as sparse as
/// evaluate() infers it: A + B stores what either stores, A * B what both do. matmul(a, b) is the product of matrices.
/// ExpressionError: shapes that do not broadcast.
Tensor operator+(const Tensor& a, const Tensor& b);
Tensor operator-(const Tensor& a, const Tensor& b);
Tensor operator*(const Tensor& a, const Tensor& b);
Tensor operator/(const Tensor& a, const Tensor& b);
Tensor operator-(const Tensor& a);

namespace detail {
template <class T>
concept PlainNumber = (std::integral<T> || std::floating_point<T>) && !std::same_as<T, bool>;
template <PlainNumber T> Expression number(T x) {
  if constexpr (std::integral<T>) return Expression::integer(static_cast<std::int64_t>(x));
  else return Expression::constant(static_cast<double>(x));
}
Tensor combine(Operator op, const Tensor& a, const Expression& number);
Tensor combine(Operator op, const Expression& number, const Tensor& a);
}  // namespace detail

/// With a number, which takes the tensor's dtype where that is of its kind (2 * A of float32 is float32). A + 1 has the
/// fill 1.
template <detail::PlainNumber T> Tensor operator+(const Tensor& a, T x) {
  return detail::combine(Operator::add, a, detail::number(x));
}
template <detail::PlainNumber T> Tensor operator-(const Tensor& a, T x) {
  return detail::combine(Operator::subtract, a, detail::number(x));
}
template <detail::PlainNumber T> Tensor operator*(const Tensor& a, T x) {
  return detail::combine(Operator::multiply, a, detail::number(x));
}
template <detail::PlainNumber T> Tensor operator/(const Tensor& a, T x) {
  return detail::combine(Operator::divide, a, detail::number(x));
}
template <detail::PlainNumber T> Tensor operator+(T x, const Tensor& a) {
  return detail::combine(Operator::add, detail::number(x), a);
}
template <detail::PlainNumber T> Tensor operator-(T x, const Tensor& a) {
  return detail::combine(Operator::subtract, detail::number(x), a);
}
template <detail::PlainNumber T> Tensor operator*(T x, const Tensor& a) {
  return detail::combine(Operator::multiply, detail::number(x), a);
}
template <detail::PlainNumber T> Tensor operator/(T x, const Tensor& a) {
  return detail::combine(Operator::divide, detail::number(x), a);
}

/// to_string() of each.
std::ostream& operator<<(std::ostream& out, const Tensor& t);
std::ostream& operator<<(std::ostream& out, const Format& f);
std::ostream& operator<<(std::ostream& out, const Scalar& x);
std::ostream& operator<<(std::ostream& out, DType t);

}  // namespace strata
