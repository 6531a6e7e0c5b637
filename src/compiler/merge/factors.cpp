// Factors of a product that stay the same while its sum runs multiply the sum, not each term. Sums of floats may be
// reassociated so, as NumPy's einsum does that contracts A and B first in S(i,j) * A(i,k) * B(j,k).
#include "compiler/merge/totals.h"

namespace strata::merging {

void Totals::find_factors() {
  const bool number = is_float(in_.compute) || is_complex(in_.compute);
  // A sum in a slot has terms in any case; of one that may have none, an infinite factor would make NaN.
  if (in_.pattern < 0 || summed_from_ < 0 || in_.combine != Combine::plus || in_.ring || !number) return;
  const auto is_product = [&](const ElementwiseNode& n) {
    return (n.kind == ElementwiseNode::all || n.kind == ElementwiseNode::any) && n.op == Operator::multiply &&
           n.formula.empty() && !n.no_sign && n.compute == in_.compute && n.dtype == in_.compute;
  };
  const auto collect = [&](const auto& self, int n) -> void {
    const ElementwiseNode& node = in_.nodes[static_cast<std::size_t>(n)];
    for (std::size_t k = 0; k < node.arguments.size(); ++k) {
      const int child = node.arguments[k];
      const bool summed = last_var_[static_cast<std::size_t>(child)] >= summed_from_;
      if (summed && is_product(in_.nodes[static_cast<std::size_t>(child)])) self(self, child);
      else (summed ? inside_ : outside_).push_back({n, k});
    }
  };
  const int root = static_cast<int>(in_.nodes.size()) - 1;
  if (is_product(in_.nodes.back())) collect(collect, root);
  if (inside_.empty()) outside_.clear();
}

Value Totals::value_of_factor(const Multiplier& f, const Arithmetic& sums, const Place& at, Stmts& out) {
  const ElementwiseNode& node = in_.nodes[static_cast<std::size_t>(f.node)];
  return cast(argument(node, f.which, !node.needed[f.which], at, out).value, in_.compute, sums.compute());
}

Value Totals::with_product(const Arithmetic& sums, const Value& sum, const Place& at, Stmts& out) {
  Value product;
  for (std::size_t f = 0; f < inside_.size(); ++f) {
    const Value v = value_of_factor(inside_[f], sums, at, out);
    const bool last = f + 1 == inside_.size();
    if (last && sum.re) return f == 0 ? sums.add(sum, v) : sums.mul_add(product, v, sum);
    product = f == 0 ? v : named("product", sums.mul(product, v), out);
  }
  return product;
}

Value Totals::times_factors(const Arithmetic& sums, const Value& sum, const Place& at, Stmts& out) {
  Value all = sum;
  for (const Multiplier& f : outside_) {
    const Value v = value_of_factor(f, sums, at, out);
    all = sums.mul(named("sum", all, out), v);
  }
  return outside_.empty() ? all : without_sign(sums, all);
}

Value Totals::without_sign(const Arithmetic& sums, const Value& v) { return sums.add(v, sums.zero(v.lanes())); }

}  // namespace strata::merging
