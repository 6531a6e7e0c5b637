// Einsums as assignments, and back.
#include <algorithm>

#include "expr/chain.h"
#include "plan/expression/front.h"
#include "plan/product.h"

namespace strata {

std::string operand_name(std::size_t k) {
  return k < 26 ? std::string(1, static_cast<char>('A' + k)) : "T" + std::to_string(k);
}

namespace {

/// Over operands that are called so.
Assignment named_assignment(const Einsum& e, const std::vector<std::string>& names, const std::string& result) {
  Assignment out;
  out.name = result;
  const auto name = [&](int i) { return e.names[static_cast<std::size_t>(i)]; };
  for (int i : e.output) out.indices.push_back(name(i));
  std::optional<Expression> product;
  for (std::size_t k = 0; k < e.operands.size(); ++k) {
    std::vector<AffineIndex> indices;
    for (int i : e.operands[k]) indices.emplace_back(name(i));
    Expression factor = Expression::access(names[k], std::move(indices));
    if (k < e.conjugate.size() && e.conjugate[k]) factor = Expression::unary(Operator::conjugate, factor);
    product = product ? *product * factor : factor;
  }
  out.value = with_sums(product.value_or(Expression::integer(1)), out.indices);
  return out;
}

}  // namespace

Assignment to_assignment(const Einsum& e) {
  std::vector<std::string> names;
  for (std::size_t k = 0; k < e.operands.size(); ++k) names.push_back(operand_name(k));
  return named_assignment(e, names, operand_name(e.operands.size()));
}

namespace evaluation {

namespace {

/// May the numbers among the factors wait until the sums are done? They meet one operand, so all must have its dtype;
/// far from 1 a product could leave the range of floats that the sum does not leave, or the other way round.
bool may_scale_sums(const ScaledEinsum& flat, const std::map<std::string, TensorType>& types) {
  constexpr double far = 4294967296.0;
  const DType dtype = types.at(flat.names[0]).dtype;
  const bool alike = std::all_of(flat.names.begin(), flat.names.end(),
                                 [&](const std::string& name) { return types.at(name).dtype == dtype; });
  const double size = std::abs(flat.factor);
  return alike && (dtype == DType::f64 || dtype == DType::f32 || is_complex(dtype)) &&
         (!flat.complex || is_complex(dtype)) && size >= 1 / far && size <= far;
}

}  // namespace

std::optional<Einsum> as_scaled_einsum(const Assignment& a, const std::map<std::string, TensorType>& types,
                                       std::vector<std::string>& operands, Scalar& factor) {
  // A written sum has NumPy's dtype of sums: of floats that is their own.
  const auto named = a.value.operands();
  const bool floats = std::all_of(named.begin(), named.end(), [&](const std::string& name) {
    const DType t = types.at(name).dtype;
    return is_float(t) || is_complex(t);
  });
  auto flat = flatten(a, floats);
  if (!flat || flat->names.empty() || (flat->scaled && (flat->summed.empty() || !may_scale_sums(*flat, types))))
    return std::nullopt;
  const auto& lists = flat->einsum.operands;
  const auto stands = [&](int i) {
    return std::any_of(lists.begin(), lists.end(),
                       [&](const auto& l) { return std::find(l.begin(), l.end(), i) != l.end(); });
  };
  const auto& output = flat->einsum.output;
  if (!std::all_of(output.begin(), output.end(), stands) ||
      !std::all_of(flat->summed.begin(), flat->summed.end(), stands))
    return std::nullopt;
  factor = !flat->scaled              ? Scalar::of(std::int64_t{1})
           : flat->factor.imag() == 0 ? Scalar::of(flat->factor.real())
                                      : Scalar::of(flat->factor);
  operands = std::move(flat->names);
  return std::move(flat->einsum);
}

std::optional<Assignment> with_own_indices(const Assignment& a, const Operands& operands) {
  std::map<std::string, TensorType> types;
  for (const auto& [name, t] : operands) types.emplace(name, t.type());
  std::vector<std::string> names;
  const auto e = a.accumulate ? std::nullopt : as_einsum(a, types, names);
  if (!e || std::ranges::all_of(types, [](const auto& named) { return named.second.format.is_all_dense(); }))
    return std::nullopt;
  std::vector<TensorType> list;
  for (const auto& name : names) list.push_back(types.at(name));
  Einsum own = planning::normalise(*e, list);
  if (own.num_indices == e->num_indices) return std::nullopt;
  for (std::size_t i = e->names.size(); i < own.names.size(); ++i)
    while (std::ranges::find(e->names, own.names[i]) != e->names.end()) own.names[i] += "_";
  return named_assignment(own, names, a.name);
}

std::optional<Einsum> as_einsum(const Assignment& a, const std::map<std::string, TensorType>& types,
                                std::vector<std::string>& operands) {
  Scalar factor = Scalar::of(std::int64_t{1});
  auto e = as_scaled_einsum(a, types, operands, factor);
  return factor.to_complex() == 1.0 ? e : std::nullopt;
}

}  // namespace evaluation
}  // namespace strata
