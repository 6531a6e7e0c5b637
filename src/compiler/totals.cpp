// What sums go to while their loops run: a total, or several where each would wait for the one before.
#include "compiler/totals.h"

#include <algorithm>

namespace strata::merging {

namespace {

/// Sums of float32 in a register lose nothing that their result could hold.
DType dtype_of_totals(const Input& in) {
  return in.combine != Combine::plus || in.few_terms ? in.compute : wide_sums(in.compute);
}

/// Is the node a function of many instructions? Sums hide behind them.
bool takes_long(const ElementwiseNode& n) {
  return n.kind == ElementwiseNode::map && n.op != Operator::negate && n.op != Operator::absolute &&
         n.op != Operator::relu && n.op != Operator::sign;
}

}  // namespace

Totals::Totals(const Input& input) : Assembler(input), total_(dtype_of_totals(input)) {
  int last = -1;
  for (int v = 0; v < in_.num_vars; ++v)
    if (!in_.summed[static_cast<std::size_t>(v)]) last = v;
  if (last + 1 < in_.num_vars) summed_from_ = last + 1;
  find_factors();
}

int Totals::chains_of_sums(std::size_t groups) const {
  constexpr std::size_t few_nodes = 8;
  if (!in_.held.empty()) return chains_of_held(groups);
  const int var = in_.num_vars - 1;
  const bool orders = in_.combine == Combine::minimum || in_.combine == Combine::maximum;
  // Of a tile whose extent is not known nearly all pieces have as many vectors as there are chains elsewhere.
  if (one_chain_ || (in_.tile >= 0 && constant_extent(in_.tile) == 0) || has_sums_within(open_.from)) return 1;
  if (!(in_.combine == Combine::plus || orders) || total_.complex() || in_.nodes.size() > few_nodes ||
      std::ranges::any_of(in_.nodes, takes_long))
    return 1;
  if (in_.is_bounded(var)) return 1;
  const double few_children = orders && !can_check_sums() ? 16 : 4;  // each chain more is joined with all choices
  int walked = 0, most = 4;
  for (const Operand& o : in_.operands) {
    const std::size_t walked_levels = o.vars.size() - static_cast<std::size_t>(o.tail);
    if (o.dense || o.twin >= 0 || walked_levels == 0 || o.vars[walked_levels - 1] != var) continue;
    const std::size_t last = walked_levels - 1;
    const Level& level = o.type.levels[last];
    const bool run = level.kind == LevelKind::singleton && !o.type.levels[last - 1].unique;  // of a list
    ++walked;
    if (level.kind == LevelKind::structured && level.arg % 2 == 0) {  // always as many
      most = level.arg % 4 == 0 ? 4 : 2;
      continue;
    }
    if (!(run || level.kind == LevelKind::compressed) || !level.unique || o.fibers.back() < few_children) return 1;
  }
  const bool of_memory = walked == 0 && in_.tile >= 0;
  return walked != 1 && !of_memory ? 1 : groups <= 2 ? most : groups <= 4 ? 2 : 1;
}

int Totals::copies_outside(std::size_t groups) const {
  const int var = in_.num_vars - 1;  // of two slots of each group, which the loop around goes through
  if (!in_.held.empty() || groups > 2 || var - 1 < summed_from_ || chains_of_sums(groups) != 2 ||
      in_.is_bounded(var - 1))
    return 1;
  for (const Operand& o : in_.operands) {
    if (o.dense) continue;
    const std::size_t walked = o.vars.size() - static_cast<std::size_t>(o.tail);
    const bool pairs = walked >= 2 && o.vars[walked - 1] == var && o.vars[walked - 2] == var - 1 &&
                       o.type.levels[walked - 1].kind == LevelKind::structured &&
                       o.type.levels[walked - 2].kind == LevelKind::dense;
    if (!pairs && (o.has(var) || o.has(var - 1))) return 1;
  }
  return 2;
}

void Totals::open_totals(std::size_t groups, const std::function<int(std::size_t)>& lanes, Stmts& out) {
  const Value start = constant(in_.combine == Combine::plus ? start_of_sums().as(total_.compute()) : in_.absent);
  open_.copies = copies_outside(groups);
  open_.chains.assign(static_cast<std::size_t>(chains_of_sums(groups) * open_.copies), {});
  for (auto& chain : open_.chains)
    for (std::size_t g = 0; g < groups; ++g) {
      Total t{.re = names_.fresh("total"), .im = {}, .lanes = lanes(g)};
      out.push_back(ir::declare(t.re, ir::broadcast(start.re, t.lanes)));
      if (start.im) {
        t.im = names_.fresh("total_im");
        out.push_back(ir::declare(t.im, start.im));
      }
      chain.push_back(std::move(t));
    }
}

Value Totals::total(std::size_t group, int chain) const {
  const Total& t = open_.chains[static_cast<std::size_t>(chain)][group];
  const ir::Type type{total_.part(), t.lanes};
  return {ir::var(t.re, type), t.im.empty() ? nullptr : ir::var(t.im, type)};
}

Value Totals::joined(const Value& total, const Value& more) const {
  if (checks_) {
    const bool least = in_.combine == Combine::minimum;
    return {ir::select(least ? ir::lt(more.re, total.re) : ir::gt(more.re, total.re), more.re, total.re), nullptr};
  }
  return in_.combine == Combine::plus ? total_.add(total, more) : combine(total, more);
}

Value Totals::joined_total(Stmts& out, std::size_t group) {
  std::vector<Value> parts;
  for (std::size_t c = 0; c < open_.chains.size(); ++c) parts.push_back(total(group, static_cast<int>(c)));
  for (; parts.size() > 1; parts.resize(parts.size() / 2))
    for (std::size_t k = 0; k < parts.size() / 2; ++k)
      parts[k] = named("sum", joined(parts[2 * k], parts[2 * k + 1]), out);
  return parts.front();
}

Value Totals::with_term(const Arithmetic& sums, const Value& sum, const Place& at, Expr& present, Stmts& out) {
  if (!outside_.empty() || !within_.empty()) return with_product(sums, sum, at, out);
  const ElementwiseNode& root = in_.nodes.back();
  const bool product = in_.combine == Combine::plus && sums.compute() == root.compute && root.compute == root.dtype &&
                       root.op == Operator::multiply && root.arguments.size() == 2 && !root.no_sign && !in_.ring;
  if (product) {
    const Element a = argument(root, 0, !root.needed[0], at, out), b = argument(root, 1, !root.needed[1], at, out);
    present = both(root.needed[0] ? a.present : nullptr, root.needed[1] ? b.present : nullptr);
    return sum.re ? sums.mul_add(a.value, b.value, sum) : sums.mul(a.value, b.value);
  }
  const Element e = evaluate(static_cast<int>(in_.nodes.size()) - 1, at, out);
  present = e.present;
  const Value more = cast(cast(e.value, root.dtype, in_.compute), in_.compute, sums.compute());
  if (!sum.re) return more;
  return in_.combine == Combine::plus ? sums.add(sum, more) : joined(sum, more);
}

void Totals::add_to_total(const Value& value, Stmts& out, int chain) {
  const Value old = total(0, chain), more = cast(value, in_.compute, total_.compute());
  const Value next = in_.combine == Combine::first
                         ? arithmetic_.either(ir::var(open_.found, {DType::boolean, 1}), old, more)
                         : joined(old, more);
  assign_total(next, out, chain);
}

void Totals::assign_total(const Value& next, Stmts& out, int chain, std::size_t group) {
  const Value old = total(group, chain);
  if (!next.im) return out.push_back(ir::assign(old.re->name, next.re));
  const std::string re = names_.fresh("next");  // the imaginary part reads the real one of before
  out.push_back(ir::let(re, next.re));
  out.push_back(ir::assign(old.im->name, next.im));
  out.push_back(ir::assign(old.re->name, ir::var(re, next.re->type)));
}

}  // namespace strata::merging
