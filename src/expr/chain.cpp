#include "expr/chain.h"

#include <algorithm>
#include <cmath>

namespace strata {

bool Chain::sums_over(const std::string& index) const {
  return std::any_of(sums.begin(), sums.end(), [&](const Expression& s) { return s.node().name == index; });
}

std::optional<std::vector<std::string>> plain_indices(const Expression& e) {
  if (e.op() != Operator::access) return std::nullopt;
  std::vector<std::string> out;
  for (const auto& i : e.node().indices) {
    if (!i.is_plain()) return std::nullopt;
    out.push_back(i.terms[0].index);
  }
  return out;
}

std::vector<Expression> factors_of(const Expression& e) {
  if (e.op() != Operator::multiply) return {e};
  std::vector<Expression> out;
  for (const auto& a : e.node().arguments)
    for (auto& f : factors_of(a)) out.push_back(std::move(f));
  return out;
}

Chain chain_of(const Expression& e) {
  Chain out;
  Expression body = e;
  for (; body.op() == Operator::sum; body = body.argument()) out.sums.push_back(body);
  out.factors = factors_of(body);
  return out;
}

Expression product_of(const std::vector<Expression>& factors) {
  Expression out = factors.at(0);
  for (std::size_t k = 1; k < factors.size(); ++k) out = out * factors[k];
  return out;
}

Expression under(const std::vector<Expression>& sums, Expression body) {
  for (auto s = sums.rbegin(); s != sums.rend(); ++s)
    body = Expression::reduce(Operator::sum, s->node().name, body, s->node().implicit);
  return body;
}

std::optional<ScaledEinsum> flatten(const Assignment& a, bool floats) {
  ScaledEinsum out;
  Einsum& e = out.einsum;
  const auto number = [&](const std::string& name) {
    const auto at = std::find(e.names.begin(), e.names.end(), name);
    const int n = static_cast<int>(at - e.names.begin());
    if (at == e.names.end()) e.names.push_back(name);
    return n;
  };
  const Chain chain = chain_of(a.value);
  for (const Expression& f : chain.factors) {
    const bool conjugate = f.op() == Operator::conjugate;
    const Expression& x = conjugate ? f.argument() : f;
    if (x.op() == Operator::constant && !conjugate) {
      const auto value = x.node().value;
      // (An infinity times a sum is not the sum of infinities.)
      if (!std::isfinite(value.real()) || !std::isfinite(value.imag())) return std::nullopt;
      out.factor *= value;
      out.scaled = true;
      out.complex = out.complex || x.node().number == Number::imaginary;
      continue;
    }
    if (x.op() != Operator::access) return std::nullopt;
    std::vector<int> indices;
    for (const auto& i : x.node().indices) {
      if (!i.is_plain()) return std::nullopt;
      indices.push_back(number(i.terms[0].index));
    }
    out.names.push_back(x.node().name);
    e.operands.push_back(std::move(indices));
    e.conjugate.push_back(conjugate);
  }
  for (const auto& i : a.indices) e.output.push_back(number(i));
  for (const Expression& s : chain.sums)
    if (!(floats || s.node().implicit) || !out.summed.insert(number(s.node().name)).second) return std::nullopt;
  e.num_indices = static_cast<int>(e.names.size());
  return out;
}

}  // namespace strata
