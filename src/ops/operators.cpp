// Arithmetic of tensors in C++ as assignments, and what std::cout prints.
#include "strata/operators.h"

#include <algorithm>
#include <ostream>

namespace strata {
namespace {

/// The last `rank` of the result's indices, as NumPy lines up shapes.
Expression access(const std::string& name, int rank, std::span<const std::string> indices) {
  return Expression::plain_access(name, indices.last(static_cast<std::size_t>(rank)));
}

std::vector<std::string> indices_of(int rank) {
  std::vector<std::string> out;
  for (int d = 0; d < rank; ++d) out.push_back("i" + std::to_string(d));
  return out;
}

Tensor result(Expression value, std::vector<std::string> indices, const std::map<std::string, Tensor>& operands) {
  Assignment a;
  a.name = "C";
  a.indices = std::move(indices);
  a.value = std::move(value);
  return evaluate(a, operands);
}

Tensor combine(Operator op, const Tensor& a, const Tensor& b) {
  const auto indices = indices_of(std::max(a.rank(), b.rank()));
  return result(Expression::binary(op, access("A", a.rank(), indices), access("B", b.rank(), indices)), indices,
                {{"A", a}, {"B", b}});
}

}  // namespace

Tensor detail::combine(Operator op, const Tensor& a, const Expression& number) {
  const auto indices = indices_of(a.rank());
  return result(Expression::binary(op, access("A", a.rank(), indices), number), indices, {{"A", a}});
}

Tensor detail::combine(Operator op, const Expression& number, const Tensor& a) {
  const auto indices = indices_of(a.rank());
  return result(Expression::binary(op, number, access("A", a.rank(), indices)), indices, {{"A", a}});
}

Tensor operator+(const Tensor& a, const Tensor& b) { return combine(Operator::add, a, b); }
Tensor operator-(const Tensor& a, const Tensor& b) { return combine(Operator::subtract, a, b); }
Tensor operator*(const Tensor& a, const Tensor& b) { return combine(Operator::multiply, a, b); }
Tensor operator/(const Tensor& a, const Tensor& b) { return combine(Operator::divide, a, b); }
Tensor operator-(const Tensor& a) {
  const auto indices = indices_of(a.rank());
  return result(Expression::unary(Operator::negate, access("A", a.rank(), indices)), indices, {{"A", a}});
}

std::ostream& operator<<(std::ostream& out, const Tensor& t) { return out << to_string(t); }
std::ostream& operator<<(std::ostream& out, const Format& f) { return out << f.to_string(); }
std::ostream& operator<<(std::ostream& out, const Scalar& x) { return out << x.to_string(); }
std::ostream& operator<<(std::ostream& out, DType t) { return out << name_of(t); }

}  // namespace strata
