// Einsums as assignments.
#include "ops/fast/sparse_product.h"
#include "strata/evaluate.h"

namespace strata {

std::string operand_name(std::size_t k) {
  return k < 26 ? std::string(1, static_cast<char>('A' + k)) : "T" + std::to_string(k);
}

Assignment to_assignment(const Einsum& e) {
  Assignment out;
  out.name = operand_name(e.operands.size());
  const auto name = [&](int i) { return e.names[static_cast<std::size_t>(i)]; };
  for (int i : e.output) out.indices.push_back(name(i));
  std::optional<Expression> product;
  for (std::size_t k = 0; k < e.operands.size(); ++k) {
    std::vector<AffineIndex> indices;
    for (int i : e.operands[k]) indices.emplace_back(name(i));
    Expression factor = Expression::access(operand_name(k), std::move(indices));
    if (k < e.conjugate.size() && e.conjugate[k]) factor = Expression::unary(Operator::conjugate, factor);
    product = product ? *product * factor : factor;
  }
  out.value = with_sums(product.value_or(Expression::integer(1)), out.indices);
  return out;
}

Tensor evaluate(const Einsum& e, std::span<const Tensor> operands, const EvaluateOptions& options) {
  if (e.operands.size() != operands.size())
    throw ExpressionError({.what = "the expression and the operands differ in number",
                           .expected = std::to_string(e.operands.size()),
                           .got = std::to_string(operands.size())});
  if (auto product = fast::sparse_product(e, operands, options)) return *product;
  std::map<std::string, Tensor> named;
  for (std::size_t k = 0; k < operands.size(); ++k) named.emplace(operand_name(k), operands[k]);
  return evaluate(to_assignment(e), named, options);
}

}  // namespace strata
