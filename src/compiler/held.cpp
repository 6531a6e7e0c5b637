// Places of a block of a dense result, all of whose sums stay in registers while loops walk the blocks: what a block's
// column meets is read once for all rows, and the result's memory is met once. In front of these loops the places are
// variables like others; behind them they have the coordinates that Place::held says.
#include "compiler/nest.h"

namespace strata::merging {

Stmt Nest::emit_held(const Place& at) {
  const int first = in_.held.front().var, behind = first + static_cast<int>(in_.held.size());
  const std::size_t lines = lines_.size();
  std::string sizes, vars;
  for (const HeldPlaces& h : in_.held) {
    vars += (vars.empty() ? "" : ", ") + letter(h.var);
    sizes += (sizes.empty() ? "" : " x ") + std::to_string(h.piece);
  }
  std::vector<Expr> base;
  const std::function<Stmt(std::size_t)> pieces = [&](std::size_t d) -> Stmt {
    if (d == in_.held.size()) return places_at_once(behind, at, base);
    const auto [var, piece] = in_.held[d];
    const std::int64_t n = constant_extent(var);
    const std::string from = names_.fresh(letter(var) + "_piece");
    base.push_back(n == piece ? ir::int_const(0) : ir::var(from));
    const Stmt body = pieces(d + 1);
    base.pop_back();
    return n == piece ? body : ir::loop(from, ir::int_const(0), ir::int_const(n), body, piece);
  };
  lines_.push_back(std::string(static_cast<std::size_t>(2 * first), ' ') + "for " + vars + " in pieces of " + sizes +
                   ", whose sums run side by side");
  const Stmt whole = pieces(0);
  const std::vector<std::string> told(lines_.begin() + static_cast<std::ptrdiff_t>(lines), lines_.end());
  const Stmt all = whole_or_singly(first, behind - 1, at, whole);
  lines_.resize(lines);
  lines_.insert(lines_.end(), told.begin(), told.end());
  return all;
}

Stmt Nest::places_at_once(int behind, const Place& at, const std::vector<Expr>& base) {
  Place inside = at;
  std::vector<std::vector<Expr>> places{{}};
  for (std::size_t h = 0; h < in_.held.size(); ++h) {
    std::vector<std::vector<Expr>> longer;
    for (const auto& place : places)
      for (std::int64_t c = 0; c < in_.held[h].piece; ++c) {
        longer.push_back(place);
        longer.back().push_back(base[h] + c);
      }
    places = std::move(longer);
  }
  inside.held = std::move(places);
  if (!inside.groups.empty()) return emit(behind, inside);
  inside.groups = {{0, in_.lanes_of_sum ? in_.lanes : 1}};
  if (inverted_ || !can_check_sums()) return emit(behind, inside);
  return checked({inside.groups[0].lanes}, [&] { return emit(behind, inside); });
}

Stmt Nest::sum_of_block(int var, const Place& at) {
  constexpr std::int64_t most_terms = 128;  ///< that stand as straight code
  const bool lanes = in_.lanes_of_sum && var + 1 == in_.num_vars;
  const std::int64_t n = constant_extent(var), step = lanes ? in_.lanes : 1;
  const auto copies = [&](bool sure) {
    Stmts all;
    const std::size_t told = lines_.size();
    Place one = at;
    one.in_bounds = sure;
    const bool unrolled = static_cast<std::int64_t>(at.groups.size() * at.held.size()) * (n / step) <= most_terms;
    if (!unrolled) {
      const std::string v = names_.fresh(letter(var));
      return ir::loop(v, ir::int_const(0), ir::int_const(n), enter(var, one, ir::var(v), {}, {}), step);
    }
    for (std::int64_t c = 0; c < n; c += step) {
      lines_.resize(told);
      all.push_back(enter(var, one, ir::int_const(c), {}, {}));
    }
    return ir::block(std::move(all));
  };
  Place corner = at;
  corner.coordinate[static_cast<std::size_t>(var)] = ir::int_const(n - 1);
  const Expr inside = inside_bounds(var, corner);
  const Stmt whole = copies(true);
  if (!inside) return whole;
  const std::size_t told = lines_.size();
  const Stmt part = copies(false);
  lines_.resize(told);
  return ir::branch(inside, whole, part);
}

void Results::put_sums_of_lanes(const Place& at, const std::function<Value(Value)>& with_absent, Stmts& out) {
  constexpr std::size_t together = 4;  ///< sums that one vector takes
  const std::size_t places = at.held.size();
  // Those of the last variable follow one another in memory.
  const auto along = static_cast<std::size_t>(in_.held.back().piece);
  const bool several =
      in_.contiguous == in_.held.back().var && along % together == 0 && in_.lanes >= static_cast<int>(together);
  for (std::size_t p = 0; p < places; p += several ? together : 1) {
    std::vector<Expr> each;
    for (std::size_t k = 0; k < (several ? together : 1); ++k) each.push_back(joined_total(out, p + k).re);
    Place place = held_place(at, p);
    place.group = {0, static_cast<int>(each.size())};
    const Value all = with_absent(joined_lanes(std::move(each), out));
    put(place, {nullptr, cast(all, total_.compute(), in_.compute)}, out);
  }
}

int Totals::chains_of_held(std::size_t groups) const {
  constexpr std::int64_t few_terms = 8;  ///< of one total, that come from one block
  constexpr double few_children = 4;
  if (one_chain_ || total_.complex()) return 1;
  double fiber = 0;
  std::int64_t terms = 1;
  for (const Operand& o : in_.operands) {
    const std::size_t walked = o.vars.size() - static_cast<std::size_t>(o.tail);
    if (o.dense || o.tail == 0 || walked == 0 || !is_walked_last(o.vars[walked - 1])) continue;
    if (o.vars[walked - 1] < summed_from_) return 1;  // one block adds all
    const Level& level = o.type.levels[walked - 1];
    if (level.kind != LevelKind::compressed || !level.unique || o.fibers.empty()) return 1;
    fiber = o.fibers.back();
    for (int v = o.vars[walked - 1] + 1; v < in_.num_vars; ++v) terms *= std::max<std::int64_t>(1, constant_extent(v));
  }
  if (fiber < few_children || terms > few_terms) return 1;
  return groups <= 2 ? 4 : groups <= 4 ? 2 : 1;
}

}  // namespace strata::merging
