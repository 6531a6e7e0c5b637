// Sums of a semiring in floating point. What is absent annihilates there, also a negative number or an infinity that it
// meets in a product, and the least of some numbers is NaN if one of them is: two choices for each product, and two for
// each sum. Almost no product needs them. So the sums run without, and note whether a product came that might have:
// then they run again, with all choices.
#include <algorithm>
#include <cmath>
#include <utility>

#include "compiler/totals.h"

namespace strata::merging {

namespace {

/// The value that no sum starts from: where all products lie beyond it, none is NaN, and those of something absent are
/// absent.
Scalar opposite(const Scalar& absent) { return Scalar::of(-absent.to_double()).as(absent.dtype); }

}  // namespace

bool Totals::can_check_sums() const {
  const bool least = in_.combine == Combine::minimum, most = in_.combine == Combine::maximum;
  if (!in_.ring || !(least || most) || !is_float(in_.compute) || in_.others ||
      in_.nodes.back().kind != ElementwiseNode::all || !std::isinf(in_.absent.to_double()))
    return false;
  return std::ranges::all_of(in_.nodes, [&](const ElementwiseNode& n) {
    if (n.kind == ElementwiseNode::access || n.kind == ElementwiseNode::constant) return true;
    if (n.kind == ElementwiseNode::any) return n.dtype == in_.compute;
    // What is absent stays what it is, or becomes NaN or the opposite infinity.
    const bool keeps =
        n.op == Operator::add || n.op == Operator::multiply || n.op == (least ? Operator::maximum : Operator::minimum);
    return n.kind == ElementwiseNode::all && keeps && n.formula.empty() && n.compute == in_.compute &&
           n.dtype == in_.compute;
  });
}

void Totals::watch_products(const std::vector<int>& lanes, Stmts& out) {
  unsure_.assign(static_cast<std::size_t>(chains_of_sums(1) * copies_outside(1)), {});
  for (auto& chain : unsure_)
    for (const int n : lanes) {
      if (chain.contains(n)) continue;
      chain[n] = names_.fresh("unsure");
      out.push_back(ir::declare(chain[n], arithmetic_.zero(n).re));
    }
  checks_ = true;
}

Expr Totals::is_unsure() {
  checks_ = false;
  Expr all;
  for (const auto& chain : unsure_)
    for (const auto& [lanes, name] : chain) {
      const Expr own = ir::reduce_lanes(ir::Op::add, ir::var(name, {arithmetic_.part(), lanes}));
      all = all ? all + own : own;
    }
  return ir::gt(all, arithmetic_.zero().re);
}

void Totals::sum_checked(int var, const Place& at, Stmts& out) {
  watch_products(sums_.empty() ? std::vector{1} : std::vector{1, in_.lanes}, out);
  out.push_back(emit(var, at));
  const Expr unsure = is_unsure();
  const std::size_t lines = lines_.size();
  Stmts again;
  for (const auto& chain : open_.chains)
    for (const Total& t : chain) again.push_back(ir::assign(t.re, constant(in_.absent).re));
  for (const auto& name : sums_) again.push_back(ir::assign(name, start_of_lanes()));
  const OpenTotals all = open_;
  open_.chains.resize(1);
  open_.copies = 1;
  again.push_back(emit(var, at));
  open_ = all;
  lines_.resize(lines);  // the same loops
  out.push_back(ir::branch(unsure, ir::block(std::move(again))));
}

void Totals::note_unsure(const Value& product, int chain, Stmts& out) {
  const std::string& name = unsure_[static_cast<std::size_t>(chain)].at(product.lanes());
  const Expr far = ir::broadcast(constant(opposite(in_.absent)).re, product.lanes());
  const bool least = in_.combine == Combine::minimum;
  const Expr sure = least ? ir::gt(product.re, far) : ir::lt(product.re, far);
  const Expr one = ir::constant(Scalar::one(arithmetic_.part()), product.lanes());
  out.push_back(ir::assign(name, ir::select(sure, ir::var(name, one->type), one)));
}

}  // namespace strata::merging
