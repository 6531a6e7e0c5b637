// The sums of a piece of the tile, and of places of a block, which stay in registers while the loops inside walk the
// sparse operands: what these find is spread over all lanes. Without the tile every term would be added to the result's
// memory.
#include <utility>

#include "compiler/results.h"

namespace strata::merging {

Place Results::held_place(const Place& at, std::size_t which) const {
  Place place = at;
  if (!at.held.empty())
    for (std::size_t h = 0; h < in_.held.size(); ++h)
      place.coordinate[static_cast<std::size_t>(in_.held[h].var)] = at.held[which][h];
  return place;
}

Stmt Results::accumulate_piece(int var, const Place& at) {
  Stmts out;
  open_.found = outside_.empty() ? "" : names_.fresh("found");
  open_.from = var;
  if (!open_.found.empty()) out.push_back(ir::declare(open_.found, ir::bool_const(false)));
  const std::size_t groups = at.groups.size(), places = std::max<std::size_t>(1, at.held.size());
  open_totals(places * groups, [&](std::size_t t) { return at.groups[t % groups].lanes; }, out);
  if (in_.others) out.push_back(ir::declare(count_ = names_.fresh("count"), ir::int_const(0)));
  register_open_ = true;
  out.push_back(emit(var, at));
  register_open_ = false;
  const Expr some_absent = in_.others ? ir::lt(ir::var(count_), this->places(var)) : nullptr;
  const auto with_absent = [&](Value all) {
    if (!some_absent) return all;
    all = named("all", all, out);
    const Value more = total_.broadcast(cast(constant(*in_.others), in_.compute, total_.compute()), all.lanes());
    return total_.either(some_absent, joined(all, more), all);
  };
  if (in_.lanes_of_sum && !at.held.empty()) {
    put_sums_of_lanes(at, with_absent, out);
    return ir::block(std::move(out));
  }
  for (std::size_t t = 0; t < places * groups; ++t) {
    Place place = held_place(at, t / groups);
    place.group = at.groups[t % groups];
    Value all = with_absent(joined_total(out, t));
    if (!outside_.empty())
      all = total_.either(ir::var(open_.found, {DType::boolean, 1}),
                          named("all", times_factors(total_, all, place, out), out), all);
    put(place, {nullptr, cast(all, total_.compute(), in_.compute)}, out);
  }
  return ir::block(std::move(out));
}

Stmt Results::sum_within(int var, const Place& at) {
  Stmts out, add;
  const std::size_t groups = at.groups.size();
  const OpenTotals outer =
      std::exchange(open_, {.chains = {}, .copies = 1, .from = var, .found = names_.fresh("found")});
  const Expr came = ir::var(open_.found, {DType::boolean, 1});
  out.push_back(ir::declare(open_.found, ir::bool_const(false)));
  open_totals(groups, [&](std::size_t g) { return at.groups[g].lanes; }, out);
  out.push_back(emit_loop(var, at));
  std::vector<Value> sums;
  for (std::size_t g = 0; g < groups; ++g) sums.push_back(joined_total(add, g));
  open_ = outer;
  for (std::size_t g = 0; g < groups; ++g) {
    Place place = at;
    place.group = at.groups[g];
    Value next = sums[g];
    const auto& factors = within_[static_cast<std::size_t>(var - 1)];
    for (const Multiplier& f : factors) {
      const Value v = value_of_factor(f, total_, place, add);
      next = &f == &factors.back() ? total_.mul_add(next, v, total(g)) : named("sum", total_.mul(next, v), add);
    }
    assign_total(next, add, 0, g);
  }
  if (!open_.found.empty()) add.push_back(ir::assign(open_.found, ir::bool_const(true)));
  out.push_back(ir::branch(came, ir::block(std::move(add))));
  return ir::block(std::move(out));
}

void Results::know(Place& at, const std::vector<char>& changes, Stmts& out) {
  const auto is_factor = [&](std::size_t n) {
    return std::ranges::any_of(inside_, [&](const Multiplier& f) { return child_of(f) == static_cast<int>(n); });
  };
  for (std::size_t n = 0; n < in_.nodes.size(); ++n) {
    const int parent = parent_[n];
    const bool asked = inside_.empty() ? parent >= 0 && changes[static_cast<std::size_t>(parent)] : is_factor(n);
    if (changes[n] || at.known[n] || !asked) continue;
    Element e = evaluate(static_cast<int>(n), at, out);
    if (in_.nodes[n].kind != ElementwiseNode::constant) e.value = named("shared", e.value, out);
    at.known[n] = std::move(e);
  }
}

Stmt Results::leaf_of_piece(const Place& given) {
  Stmts out, add;
  Place at = given;
  const bool certain = at.holds || absent_changes_nothing();
  std::vector<char> changes(in_.nodes.size(), 0);
  for (std::size_t n = 0; n < in_.nodes.size(); ++n) changes[n] = moves_[n] || (!at.held.empty() && held_[n]);
  know(at, changes, out);  // what all share, once
  const std::size_t groups = at.groups.size(), places = std::max<std::size_t>(1, at.held.size());
  Expr present;
  Stmts& values = at.held.empty() ? out : add;
  const auto add_one = [&](const Place& place, std::size_t which) {
    const Value next = with_term(total_, total(which, at.chain), place, present, values);
    Stmts assigned;
    assign_total(next, assigned, at.chain, which);
    Stmt one = ir::block(std::move(assigned));
    if (!at.held.empty() && present && !certain) one = ir::branch(present, one);
    add.push_back(std::move(one));
  };
  const auto of_group = [&](const Place& place, std::size_t g) {
    Place one = place;
    one.group = at.groups[g];
    return one;
  };
  // Of groups and places, what the fewer have of their own is read once, and stays in registers beside the sums.
  const bool by_place = groups <= places;
  std::vector<Place> fewer;
  for (std::size_t k = 0; k < (by_place ? groups : places); ++k) {
    fewer.push_back(by_place ? of_group(at, k) : held_place(at, k));
    if (places > 1) know(fewer.back(), by_place ? held_ : moves_, values);
  }
  for (std::size_t k = 0; k < (by_place ? places : groups); ++k) {
    Place one = by_place ? held_place(at, k) : of_group(at, k);
    if (fewer.size() > 1) know(one, by_place ? moves_ : held_, values);
    for (std::size_t f = 0; f < fewer.size(); ++f) {
      Place both = by_place ? of_group(one, f) : held_place(one, f);
      both.learn(fewer[f].known);
      add_one(both, by_place ? k * groups + f : f * groups + k);
    }
  }
  if (certain || !at.held.empty()) present = nullptr;
  if (in_.others) add.push_back(ir::assign(count_, ir::var(count_) + (in_.lanes_of_sum ? in_.lanes : 1)));
  if (!open_.found.empty()) add.push_back(ir::assign(open_.found, ir::bool_const(true)));
  const Stmt all = ir::block(std::move(add));
  out.push_back(present ? ir::branch(present, all) : all);
  return ir::block(std::move(out));
}

}  // namespace strata::merging
