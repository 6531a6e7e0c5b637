// The shape of a result, and the printed form.
#include "base/tuple_text.h"
#include "strata/expr.h"

namespace strata {
namespace {

std::string name_of_tensor(std::size_t k) {
  return k < 26 ? std::string(1, static_cast<char>('A' + k)) : "T" + std::to_string(k);
}

std::string access(const Einsum& e, const std::string& name, const std::vector<int>& indices) {
  std::string out = name + "(";
  for (std::size_t d = 0; d < indices.size(); ++d)
    out += (d ? "," : "") + e.names[static_cast<std::size_t>(indices[d])];
  return out + ")";
}

/// The printed expression; `where` becomes the place of operand `k` in it.
std::string print(const Einsum& e, std::size_t k, Span& where) {
  std::string out = access(e, name_of_tensor(e.operands.size()), e.output) + " = ";
  for (std::size_t q = 0; q < e.operands.size(); ++q) {
    const std::string factor = access(e, name_of_tensor(q), e.operands[q]);
    if (q) out += " * ";
    const std::size_t begin = out.size();
    out += q < e.conjugate.size() && e.conjugate[q] ? "conj(" + factor + ")" : factor;
    if (q == k) where = {begin, out.size()};
  }
  return out;
}

[[noreturn]] void refuse(const Einsum& e, std::size_t k, std::string what, std::string expected, std::string got) {
  Problem p{.what = std::move(what), .expected = std::move(expected), .got = std::move(got)};
  p.text = print(e, k, p.where);
  throw ExpressionError(std::move(p));
}

}  // namespace

std::string Einsum::to_string() const {
  Span unused;
  return print(*this, 0, unused);
}

std::vector<std::int64_t> index_extents(const Einsum& e, std::span<const Shape> shapes) {
  if (shapes.size() > max_operands)
    throw ExpressionError({.what = "an expression of too many operands",
                           .expected = "at most " + std::to_string(max_operands),
                           .got = std::to_string(shapes.size())});
  if (shapes.size() != e.operands.size())
    refuse(e, 0, "the expression and the operands differ in number", std::to_string(e.operands.size()) + " operands",
           std::to_string(shapes.size()));
  const auto size = static_cast<std::size_t>(e.num_indices);
  std::vector<std::int64_t> extents(size, 1);
  std::vector<std::size_t> from(size, 0);  // which operand gave the extent, for the message
  const auto operand = [](std::size_t k) { return "operand " + std::to_string(k); };
  const auto of_shape = [&](std::size_t k) { return " of shape " + tuple_text(shapes[k]); };
  for (std::size_t k = 0; k < shapes.size(); ++k) {
    const auto& indices = e.operands[k];
    const Shape& shape = shapes[k];
    if (shape.size() != indices.size())
      refuse(e, k, operand(k) + " does not fit its term", std::to_string(indices.size()) + " dimensions",
             std::to_string(shape.size()) + ", shape " + tuple_text(shape));
    for (std::size_t d = 0; d < indices.size(); ++d) {
      const auto i = static_cast<std::size_t>(indices[d]);
      // A diagonal takes equal extents only: 1 does not stretch inside one operand (as in NumPy).
      for (std::size_t before = 0; before < d; ++before)
        if (indices[before] == indices[d] && shape[before] != shape[d])
          refuse(e, k, operand(k) + " repeats index '" + e.names[i] + "' over dimensions that differ", "equal extents",
                 tuple_text(shape));
      if (shape[d] == 1) continue;
      if (extents[i] != 1 && extents[i] != shape[d])
        refuse(e, k, "index '" + e.names[i] + "' has two extents",
               std::to_string(extents[i]) + ", as in " + operand(from[i]) + of_shape(from[i]),
               std::to_string(shape[d]) + " in " + operand(k) + of_shape(k));
      extents[i] = shape[d];
      from[i] = k;
    }
  }
  return extents;
}

Shape output_shape(const Einsum& e, std::span<const Shape> shapes) {
  const auto extents = index_extents(e, shapes);
  Shape out;
  for (int i : e.output) out.push_back(extents[static_cast<std::size_t>(i)]);
  return out;
}

}  // namespace strata
