// Einsums as assignments, and back.
#include <algorithm>

#include "ops/evaluate/chain.h"
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
  const auto named = a.value.operands();
  const bool floats = std::all_of(named.begin(), named.end(), [&](const std::string& name) {
    const DType t = types.at(name).dtype;
    return is_float(t) || is_complex(t);
  });
  auto flat = flatten(a, floats);
  if (!flat || flat->scaled) return std::nullopt;
  const auto& lists = flat->einsum.operands;
  const auto stands = [&](int i) {
    return std::any_of(lists.begin(), lists.end(),
                       [&](const auto& l) { return std::find(l.begin(), l.end(), i) != l.end(); });
  };
  const auto& output = flat->einsum.output;
  if (!std::all_of(output.begin(), output.end(), stands) ||
      !std::all_of(flat->summed.begin(), flat->summed.end(), stands))
    return std::nullopt;
  operands = std::move(flat->names);
  return std::move(flat->einsum);
}

}  // namespace evaluation
}  // namespace strata
