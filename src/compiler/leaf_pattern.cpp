// Results in the driver's pattern: the sum of a slot, times what the sum does not move, stored where the driver's value
// stands.
//
// S(i,j) * A(i,k) * B(j,k) multiplies S(i,j) once, behind the sum over k. Sums of floats may be reassociated so, as
// NumPy's einsum does that contracts A and B first; products of integers wrap and are the same either way.
#include <algorithm>
#include <utility>

#include "compiler/sums.h"

namespace strata::compiler {

using ir::Expr;
using ir::Stmt;

bool Sums::is_summed(const DenseAccess& access) const {
  const auto ids = g_.indices(access.operand);
  return std::any_of(ids.begin(), ids.end(),
                     [&](int i) { return std::find(g_.free_sum.begin(), g_.free_sum.end(), i) != g_.free_sum.end(); });
}

Value Sums::sum_in_pairs(std::vector<Value> parts, Stmts& out) {
  while (parts.size() > 1) {
    std::vector<Value> half;
    for (std::size_t k = 0; k + 1 < parts.size(); k += 2)
      half.push_back(kept(out, "sum", arithmetic_.add(parts[k], parts[k + 1])));
    if (parts.size() % 2) half.push_back(parts.back());
    parts = half;
  }
  return parts.front();
}

/// Pairs first, then lanes, the widest first.
Value Sums::sum_up(std::map<int, std::vector<Value>> by_lanes, Stmts& out) {
  Value sum{};
  for (auto it = by_lanes.rbegin(); it != by_lanes.rend(); ++it) {
    const Value all = sum_in_pairs(std::move(it->second), out);
    const Value one = kept(out, "sum", arithmetic_.reduce(all));
    sum = sum.re ? kept(out, "sum", arithmetic_.add(sum, one)) : one;
  }
  return sum;
}

Stmt Sums::store_slot(const Point& at, const Value* sum, std::size_t number, const Group& group) {
  Stmts out;
  const Expr position = named(out, "slot", slot(at) + group.offset);
  const bool shared = g_.driver_type().shared_value;
  const int buffer = values_buffer(in_.driver);
  const bool conjugate =
      !in_.einsum.conjugate.empty() && in_.einsum.conjugate[static_cast<std::size_t>(in_.driver)] != 0;
  Value product = kept(out, "v",
                       arithmetic_.load(params_.param(buffer), buffer, g_.driver_type().dtype,
                                        shared ? ir::int_const(0) : position, shared ? 1 : group.lanes, conjugate));
  for (std::size_t a = 0; a + 1 < g_.dense.size(); ++a) {
    if (is_summed(g_.dense[a])) continue;
    product = arithmetic_.mul(product, at.loaded[a][depends_on_tile(g_.dense[a]) ? number : 0]);
  }
  if (sum && product.lanes() < sum->lanes()) product = arithmetic_.broadcast(product, sum->lanes());
  if (sum) product = arithmetic_.mul(*sum, product);
  if (product.lanes() < group.lanes) product = arithmetic_.broadcast(product, group.lanes);
  product = kept(out, "value", product);
  const Stmt fresh = update_output(position, product, group.lanes, false, true);
  out.push_back(
      ir::branch(arithmetic_.is_zero(beta_), fresh, update_output(position, product, group.lanes, true, true)));
  return ir::block(std::move(out));
}

/// Several slots that follow each other: their sums wait for the last one's.
void Sums::store_together(const Point& at, std::vector<Value> parts, Stmts& out) {
  const Value all = sum_in_pairs(std::move(parts), out);
  Waiting& waiting = waiting_[at.twin];
  if (waiting.sums.empty()) waiting.first_slot = named(out, "slot", slot(at));
  waiting.sums.push_back(all.re);
  if (!at.last) return;
  const int lanes = static_cast<int>(waiting.sums.size());
  const int buffer = values_buffer(in_.driver);
  const Value sum = kept(out, "sums", {ir::reduce_lanes(ir::Op::add, std::move(waiting.sums)), nullptr});
  waiting.sums.clear();
  const Value values =
      kept(out, "v",
           arithmetic_.load(params_.param(buffer), buffer, g_.driver_type().dtype, waiting.first_slot, lanes, false));
  const Value product = kept(out, "value", arithmetic_.mul(sum, values));
  const Stmt fresh = update_output(waiting.first_slot, product, lanes, false, true);
  out.push_back(
      ir::branch(arithmetic_.is_zero(beta_), fresh, update_output(waiting.first_slot, product, lanes, true, true)));
}

Stmt Sums::emit_pattern_leaf(const Point& at) {
  Stmts out{emit_pattern_row(at)};
  for (int t = 1; t < at.identical; ++t) out.push_back(emit_pattern_row(twin_of(at, t)));
  return ir::block(std::move(out));
}

Stmt Sums::emit_pattern_row(const Point& at) {
  Stmts out;
  const std::vector<Group> groups = at.groups.empty() ? std::vector<Group>{{0, 1}} : at.groups;
  if (g_.free_sum.empty()) {
    for (std::size_t g = 0; g < groups.size(); ++g) out.push_back(store_slot(at, nullptr, g, groups[g]));
    return ir::block(std::move(out));
  }

  // The factors of the sum: those that all groups share become one.
  Value shared{};
  for (std::size_t a = 0; a + 1 < g_.dense.size(); ++a)
    if (is_summed(g_.dense[a]) && !depends_on_tile(g_.dense[a])) {
      const Value& v = at.loaded[a].front();
      shared = shared.re ? kept(out, "s", arithmetic_.mul(shared, v)) : v;
    }
  std::map<int, std::size_t> of_lanes;
  for (const Group& g : groups) ++of_lanes[g.lanes];
  std::map<int, std::vector<Value>> sums;
  std::map<int, std::size_t> seen;
  for (std::size_t g = 0; g < groups.size(); ++g) {
    std::vector<Value> all;
    if (shared.re) all.push_back(shared);
    for (std::size_t a = 0; a + 1 < g_.dense.size(); ++a)
      if (is_summed(g_.dense[a]) && depends_on_tile(g_.dense[a])) all.push_back(at.loaded[a][g]);
    Value first = all[0];
    for (std::size_t k = 1; k + 1 < all.size(); ++k) first = kept(out, "product", arithmetic_.mul(first, all[k]));
    const int lanes = groups[g].lanes;
    const auto add_to = [&](const Value& old) {
      if (all.size() > 1) return arithmetic_.mul_add(first, all.back(), old);
      return arithmetic_.add(old, first.lanes() == lanes ? first : arithmetic_.broadcast(first, lanes));
    };
    if (s_.accumulate) {
      // One accumulator per place in the main piece, and one for each narrower width.
      Key name = key(at, std::int64_t{lanes} * 1000 + (lanes == s_.lanes ? static_cast<std::int64_t>(g) : 0));
      Accumulator& a = accumulators_[name];
      if (a.re.empty()) {
        a = {names_.fresh("acc"), "", lanes};
        if (arithmetic_.complex()) a.im = names_.fresh("acc_im");
      }
      const Value sum = kept(out, "next", add_to(accumulator(a)));
      out.push_back(ir::assign(a.re, sum.re));
      if (sum.im) out.push_back(ir::assign(a.im, sum.im));
      continue;
    }
    // Straight code: a few chains, as other slots fill the time that an fma takes.
    std::vector<Value>& chains = sums[lanes];
    const std::size_t count = of_lanes[lanes], most = count <= 4 ? 1 : count <= 8 ? 2 : 4, mine = seen[lanes]++ % most;
    if (mine < chains.size()) chains[mine] = kept(out, "dot", add_to(chains[mine]));
    else
      chains.push_back(kept(out, "dot",
                            all.size() > 1           ? arithmetic_.mul(first, all.back())
                            : first.lanes() == lanes ? first
                                                     : arithmetic_.broadcast(first, lanes)));
  }
  if (s_.accumulate) return ir::block(std::move(out));
  if (s_.together && !at.alone && sums.size() == 1) {
    store_together(at, std::move(sums.begin()->second), out);
    return ir::block(std::move(out));
  }
  const Value sum = sum_up(std::move(sums), out);
  out.push_back(store_slot(at, &sum, 0, {0, 1}));
  return ir::block(std::move(out));
}

/// How many slots that follow each other are stored by one vector: to add up the lanes of one sum takes as long as of
/// several.
int Sums::slots_at_once(const Point& at) const {
  constexpr int most = 4;
  const int last = s_.rows.empty() ? -1 : s_.rows.back();
  const bool plain = in_.optimize && (in_.compute == DType::f32 || in_.compute == DType::f64) && !at.careful &&
                     last == g_.num_levels() - 1 && s_.row_pieces.back() % most == 0 &&
                     std::ranges::all_of(accumulators_, [](const auto& a) { return a.second.lanes >= most; });
  const auto beside = [&](const DenseAccess& a) { return a.operand >= 0 && !is_summed(a); };
  return plain && std::ranges::none_of(g_.dense, beside) && !accumulators_.empty() ? most : 1;
}

/// Of so many slots, each with sums in the same widths: a lane for each.
Value Sums::sum_up_several(std::vector<std::map<int, std::vector<Value>>> slots, Stmts& out) {
  Value sum{};
  while (!slots.front().empty()) {
    std::vector<Expr> parts;
    for (auto& widths : slots)
      parts.push_back(sum_in_pairs(std::move(widths.extract(std::prev(widths.end())).mapped()), out).re);
    const Value all = kept(out, "sums", {ir::reduce_lanes(ir::Op::add, std::move(parts)), nullptr});
    sum = sum.re ? kept(out, "sums", arithmetic_.add(sum, all)) : all;
  }
  return sum;
}

/// Accumulators of every row, the sums below, and what becomes of them.
Stmt Sums::emit_pattern_open(std::size_t step, const Point& at) {
  const auto outside = std::move(accumulators_);
  accumulators_.clear();
  const Stmt body = emit(step + 1, at);  // names the accumulators that it needs
  Stmts out;
  for (const auto& [name, a] : accumulators_) {
    const Value zero = arithmetic_.zero(a.lanes);
    out.push_back(ir::declare(a.re, zero.re));
    if (zero.im) out.push_back(ir::declare(a.im, zero.im));
  }
  out.push_back(body);
  const auto sums_of = [&](const Point& row) {
    std::map<int, std::vector<Value>> sums;
    for (const auto& [name, a] : accumulators_)
      if (std::equal(row.row.begin(), row.row.end(), name.begin())) sums[a.lanes].push_back(accumulator(a));
    return sums;
  };
  const int lanes = slots_at_once(at);
  std::vector<std::map<int, std::vector<Value>>> waiting;
  Point first = at;
  for_each_row(at, [&](Point row) {
    if (waiting.empty()) first = row;
    waiting.push_back(sums_of(row));
    if (static_cast<int>(waiting.size()) < lanes) return;
    row = first;
    Stmts stores;
    const Value sum = lanes > 1                 ? sum_up_several(std::exchange(waiting, {}), stores)
                      : waiting.front().empty() ? arithmetic_.zero()
                                                : sum_up(std::move(waiting.front()), stores);
    waiting.clear();
    const std::function<Stmt(Point, std::size_t)> enter = [&](Point p, std::size_t k) -> Stmt {
      if (k == s_.rows.size()) return store_slot(p, &sum, 0, {0, lanes});
      const Expr c = p.row_base[k] ? p.row_base[k] + p.row[k] : ir::int_const(p.row[k]);
      const bool careful = p.careful;
      return enter_level(std::move(p), s_.rows[k], c, !careful, [&, k](Point q) { return enter(std::move(q), k + 1); });
    };
    Point entered = row;
    if (!s_.rows.empty()) open_block(entered, stores);
    stores.push_back(enter(std::move(entered), 0));
    out.push_back(ir::block(std::move(stores)));
  });
  accumulators_ = outside;
  return ir::block(std::move(out));
}

}  // namespace strata::compiler
