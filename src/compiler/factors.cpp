// Factors of a product that stay the same while its sum runs multiply the sum, not each term; of sums inside of each
// other each has its own. Sums of floats may be reassociated so, as NumPy's einsum does that contracts A and B first in
// S(i,j) * A(i,k) * B(j,k).
#include <algorithm>

#include "compiler/totals.h"

namespace strata::merging {

bool Totals::sums_pieces_of_one() const {
  if (in_.tile < 0 || !in_.held.empty() || in_.others || in_.mask >= 0 || !in_.bounds.empty()) return false;
  const auto walked = [](const Operand& o) { return !o.dense; };
  const auto one = std::ranges::find_if(in_.operands, walked);
  return std::ranges::count_if(in_.operands, walked) == 1 && !one->missing && !one->vars.empty() &&
         one->vars.back() >= summed_from_;
}

void Totals::find_factors() {
  const bool number = is_float(in_.compute) || is_complex(in_.compute);
  // A sum in a slot has terms in any case. Of one that may have none, an infinite factor would make NaN: pieces of a
  // tile note whether a term came.
  if (!(in_.pattern >= 0 || sums_pieces_of_one()) || summed_from_ < 0 || in_.combine != Combine::plus || in_.ring ||
      !number)
    return;
  // (Sums that are wider than their terms keep more of the products too.)
  const auto widened = [&](DType t) { return in_.pattern < 0 && wide_sums(t) == in_.compute; };
  const auto is_product = [&](const ElementwiseNode& n) {
    return (n.kind == ElementwiseNode::all || n.kind == ElementwiseNode::any) && n.op == Operator::multiply &&
           n.formula.empty() && !n.no_sign && n.compute == n.dtype && (n.dtype == in_.compute || widened(n.dtype));
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
  else if (sums_pieces_of_one()) find_sums_within();
}

void Totals::find_sums_within() {
  const auto depth = [&](const Multiplier& f) { return last_var_[static_cast<std::size_t>(child_of(f))]; };
  int deepest = depth(*std::ranges::max_element(inside_, {}, depth));
  // (A loop over one child is none.)
  const Operand& walked = *std::ranges::find_if(in_.operands, [](const Operand& o) { return !o.dense; });
  for (std::size_t l = walked.vars.size() - static_cast<std::size_t>(walked.tail); l-- > 1;) {
    const Level &above = walked.type.levels[l - 1], &own = walked.type.levels[l];
    if (walked.vars[l] != deepest || own.kind != LevelKind::singleton || !above.unique) break;
    deepest = walked.vars[l - 1];
  }
  within_.resize(static_cast<std::size_t>(in_.num_vars));
  for (const Multiplier& f : inside_)
    if (depth(f) < deepest) within_[static_cast<std::size_t>(depth(f))].push_back(f);
  if (!has_sums_within(summed_from_)) within_.clear();
  std::erase_if(inside_, [&](const Multiplier& f) { return depth(f) < deepest; });
}

bool Totals::has_sums_within(int var) const {
  for (std::size_t v = 0; v < within_.size(); ++v)
    if (static_cast<int>(v) >= var && !within_[v].empty()) return true;
  return false;
}

Value Totals::value_of_factor(const Multiplier& f, const Arithmetic& sums, const Place& at, Stmts& out) {
  const ElementwiseNode& node = in_.nodes[static_cast<std::size_t>(f.node)];
  return cast(argument(node, f.which, !node.needed[f.which], at, out).value, node.compute, sums.compute());
}

Value Totals::with_product(const Arithmetic& sums, const Value& sum, const Place& at, Stmts& out) {
  Value product;
  for (std::size_t f = 0; f < inside_.size(); ++f) {
    const Value v = value_of_factor(inside_[f], sums, at, out);
    const bool last = f + 1 == inside_.size();
    if (last && sum.re && f == 0) return sums.add(sum, v.lanes() < sum.lanes() ? sums.broadcast(v, sum.lanes()) : v);
    if (last && sum.re) return sums.mul_add(product, v, sum);
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
