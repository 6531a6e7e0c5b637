// Einsums as assignments, and back.
#include <algorithm>

#include "ops/evaluate/contract.h"
#include "ops/evaluate/front.h"

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

namespace evaluation {

std::optional<Einsum> as_einsum(const Assignment& a, const std::map<std::string, TensorType>& types,
                                std::vector<std::string>& operands) {
  // A written sum has NumPy's dtype of sums: of floats that is their own.
  const bool floats = std::all_of(types.begin(), types.end(), [](const auto& t) { return is_float(t.second.dtype) || is_complex(t.second.dtype); });
  Einsum e;
  operands.clear();
  const auto number = [&](const std::string& name) {
    const auto at = std::find(e.names.begin(), e.names.end(), name);
    if (at == e.names.end()) e.names.push_back(name);
    return static_cast<int>(std::find(e.names.begin(), e.names.end(), name) - e.names.begin());
  };
  Expression body = a.value;
  std::vector<std::string> summed;
  while (body.op() == Operator::sum && (floats || body.node().implicit)) {
    if (std::find(summed.begin(), summed.end(), body.node().name) != summed.end()) return std::nullopt;
    summed.push_back(body.node().name);
    body = body.argument();
  }
  for (const Expression& f : factors_of(body)) {
    const bool conjugate = f.op() == Operator::conjugate;
    const Expression& access = conjugate ? f.argument() : f;
    if (access.op() != Operator::access) return std::nullopt;
    std::vector<int> indices;
    for (const auto& i : access.node().indices) {
      if (!i.is_plain()) return std::nullopt;
      indices.push_back(number(i.terms[0].index));
    }
    operands.push_back(access.node().name);
    e.operands.push_back(std::move(indices));
    e.conjugate.push_back(conjugate ? 1 : 0);
  }
  for (const auto& i : summed)
    if (std::find(e.names.begin(), e.names.end(), i) == e.names.end()) return std::nullopt;
  e.num_indices = static_cast<int>(e.names.size());
  for (const auto& i : a.indices) {
    e.output.push_back(number(i));
    if (e.output.back() >= e.num_indices) return std::nullopt;
  }
  return e;
}

}  // namespace evaluation
}  // namespace strata
