#pragma once
// Sums over a product, taken apart and put together.
#include <complex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "strata/expr.h"
#include "strata/expression.h"

namespace strata {

struct Chain {
  std::vector<Expression> sums;     ///< outermost first
  std::vector<Expression> factors;  ///< from left to right
  bool sums_over(const std::string& index) const;
};

/// f(e) for each access in an expression, from left to right.
template <class F> void for_each_access(const Expression& e, const F& f) {
  if (e.op() == Operator::access) f(e);
  for (const auto& a : e.node().arguments) for_each_access(a, f);
}
/// The indices of an access, one for each dimension; nothing where `e` is none, or an index is not plain.
std::optional<std::vector<std::string>> plain_indices(const Expression& e);
/// The factors of a product from left to right.
std::vector<Expression> factors_of(const Expression& e);
Chain chain_of(const Expression& e);
/// `factors` multiplied; at least one.
Expression product_of(const std::vector<Expression>& factors);
/// `body` under one more of these sums after the other, the last one innermost.
Expression under(const std::vector<Expression>& sums, Expression body);

/// A chain of plain accesses (or their conjugates) and numbers: an einsum, and a factor in front of it.
struct ScaledEinsum {
  Einsum einsum;
  std::vector<std::string> names;  ///< of the operands
  std::complex<double> factor = 1;
  bool scaled = false;   ///< is a number among the factors,
  bool complex = false;  ///< ... and a complex one?
  std::set<int> summed;
};
/// `floats`: all operands are such, and a written sum has their dtype too.
std::optional<ScaledEinsum> flatten(const Assignment& a, bool floats);

}  // namespace strata
