// What becomes of a value: added to memory, kept in a register or a workspace, appended to the levels of the result.
#include <algorithm>
#include <numeric>

#include "compiler/results.h"

namespace strata::merging {

Results::Results(const Input& input) : Totals(input) {
  if (in_.others && inverted_) {
    counted_from_ = first_inverted(in_.summed);
    counted_to_ = workspace_of(in_.summed);
  }
}

/// In a semiring what is absent has the value that sums start from: added to dense memory it needs no jump.
bool Results::absent_changes_nothing() const {
  const bool truth = in_.combine == Combine::either && in_.compute == DType::boolean;
  return in_.dense_result && !in_.diagonals && in_.mask < 0 && !in_.others && in_.combine != Combine::first &&
         (in_.ring || truth) &&
         std::ranges::any_of(in_.operands, [](const Operand& o) { return o.missing.has_value(); });
}

Stmt Results::leaf(const Place& at) {
  if (!at.groups.empty()) return register_open_ ? leaf_of_piece(at) : add_piece_to_row(at);
  Stmts out;
  if (register_open_ && in_.combine != Combine::first) return add_term(at);
  Element e = evaluate(static_cast<int>(in_.nodes.size()) - 1, at, out);
  if (at.holds || absent_changes_nothing()) e.present = nullptr;
  e.value = cast(e.value, in_.nodes.back().dtype, in_.compute);
  if (!register_open_) {
    put(at, e, out);
    return ir::block(std::move(out));
  }
  Stmts add;
  add_to_total(e.value, add, at.chain);
  note_term(e.present, std::move(add), out);
  return ir::block(std::move(out));
}

Stmt Results::add_term(const Place& at) {
  Stmts out, add;
  Expr present;
  const Value next = with_term(total_, total(0, at.chain), at, present, out);
  assign_total(next, add, at.chain);
  note_term(at.holds || absent_changes_nothing() ? nullptr : present, std::move(add), out);
  return ir::block(std::move(out));
}

void Results::note_term(const Expr& present, Stmts add, Stmts& out) {
  if (!open_.found.empty()) add.push_back(ir::assign(open_.found, ir::bool_const(true)));
  if (in_.others) add.push_back(ir::assign(count_, ir::var(count_) + 1));
  const Stmt all = ir::block(std::move(add));
  out.push_back(present ? ir::branch(present, all) : all);
}

Stmt Results::accumulate(int var, const Place& at) {
  if (!at.groups.empty()) return accumulate_piece(var, at);
  if (sums_in_slots()) return sum_of_slot(var, at);
  Stmts out;
  open_totals(1, [](std::size_t) { return 1; }, out);
  // A dense result holds the identity already: adding it once more changes nothing. (But that a diagonal is there is
  // said by what is put.) A slot of a pattern has a value in any case.
  const bool always = (in_.dense_result && !in_.diagonals) || in_.pattern >= 0;
  open_.found = always && in_.combine != Combine::first ? "" : "found";
  if (!open_.found.empty()) out.push_back(ir::declare(open_.found, ir::bool_const(false)));
  if (in_.others) out.push_back(ir::declare(count_ = names_.fresh("count"), ir::int_const(0)));
  sums_.clear();
  const int vectors = vectors_of_sums();
  for (int s = 0; s < vectors; ++s) {
    sums_.push_back(names_.fresh("sums"));
    out.push_back(ir::declare(sums_.back(), start_of_lanes()));
  }
  if (!sums_.empty() && in_.combine == Combine::plus) out.push_back(ir::declare("added", ir::int_const(0)));
  register_open_ = true;
  if (can_check_sums()) sum_checked(var, at, out);
  else out.push_back(emit(var, at));
  register_open_ = false;
  if (!sums_.empty()) add_lanes(out);
  if (in_.others) {
    Stmts add;
    add_to_total(constant(*in_.others), add);
    out.push_back(ir::branch(ir::lt(ir::var(count_), places(var)), ir::block(std::move(add))));
  }
  checks_ = can_check_sums();  // only the first chain may hold NaN then
  const Value all = times_factors(total_, joined_total(out), at, out);
  checks_ = false;
  put(at,
      {open_.found.empty() ? nullptr : ir::var(open_.found, {DType::boolean, 1}),
       cast(all, total_.compute(), in_.compute)},
      out);
  return ir::block(std::move(out));
}

Stmt Results::count_by_row(const Place& at) {
  Stmts out{ir::declare(count_ = names_.fresh("count"), ir::int_const(0)), emit_loop(counted_from_, at)};
  Place place = at;
  std::vector<std::string> names;
  for (int v = counted_to_; v < in_.num_vars; ++v) {
    names.push_back(names_.fresh(letter(v)));
    place.coordinate[static_cast<std::size_t>(v)] = ir::var(names.back());
  }
  Stmts add;
  put(place, {nullptr, constant(*in_.others)}, add);
  Stmt loops = ir::block(std::move(add));
  for (int v = in_.num_vars; v-- > counted_to_; names.pop_back())
    loops = ir::loop(names.back(), ir::int_const(0), extent(v), loops);
  out.push_back(ir::branch(ir::lt(ir::var(count_), places(counted_from_)), loops));
  return ir::block(std::move(out));
}

Stmt Results::count_term(Place at) {
  const Stmt one = ir::assign(count_, ir::var(count_) + 1);
  if (at.holds) return one;
  // No sparse operand has an index of the loops inside: what is here is so for all of them.
  for (int v = counted_to_; v < in_.num_vars; ++v) at.coordinate[static_cast<std::size_t>(v)] = ir::int_const(0);
  Stmts unused;
  const Expr present = evaluate(static_cast<int>(in_.nodes.size()) - 1, at, unused).present;
  return present ? ir::branch(present, one) : one;
}

/// How many places the summed variables from this one on have: an index that was cut in several has those within its
/// bound.
Expr Results::places(int var) {
  std::vector<char> counted(static_cast<std::size_t>(in_.num_vars), 0);
  std::vector<std::size_t> order(in_.bounds.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return in_.bounds[a].terms.size() > in_.bounds[b].terms.size();
  });
  Expr out = ir::int_const(1);
  for (std::size_t b : order) {  // of an index cut twice the whole comes first
    const auto& terms = in_.bounds[b].terms;
    if (!std::all_of(terms.begin(), terms.end(),
                     [&](const auto& t) { return t.first >= var && !counted[static_cast<std::size_t>(t.first)]; }))
      continue;
    for (const auto& [v, c] : terms) counted[static_cast<std::size_t>(v)] = 1;
    out = out * scalar(ScalarBinding::bound, -1, static_cast<int>(b), "bound" + std::to_string(b));
  }
  for (int v = var; v < in_.num_vars; ++v)
    if (in_.summed[static_cast<std::size_t>(v)] && !counted[static_cast<std::size_t>(v)]) out = out * extent(v);
  return out;
}

Expr Results::index_of(const Place& at) {
  Expr index = in_.skew < 0 ? ir::int_const(0) : scalar(ScalarBinding::offset, -1, 0, "out_offset");
  for (int v = 0; v < in_.num_vars; ++v)
    if (!in_.summed[static_cast<std::size_t>(v)] || v == in_.skew)
      index = index + (v == in_.contiguous ? at.coordinate[static_cast<std::size_t>(v)]
                                           : at.coordinate[static_cast<std::size_t>(v)] *
                                                 scalar(ScalarBinding::stride, -1, v, "out_stride_" + letter(v)));
  return index + at.group.offset;
}

void Results::put(const Place& at, const Element& e, Stmts& out) {
  Stmts s;
  if (in_.pattern >= 0) {
    const int b = buffer(BufferBinding::output, -1, 0, "out", arithmetic_.part(), true);
    const Expr index = slot(in_.pattern, at) + at.group.offset;
    Value value = e.value;
    if (in_.joins)
      value = combine(arithmetic_.load(params_.param(b), b, in_.compute, index, value.lanes(), false), value);
    s.push_back(arithmetic_.store(params_.param(b), b, in_.compute, index, value));
  } else if (in_.diagonals) {
    put_on_diagonal(at, e.value, s);
  } else if (in_.dense_result) {
    const int b = buffer(BufferBinding::output, -1, 0, "out", arithmetic_.part(), true);
    meet(b, index_of(at), at.passes ? arithmetic_.either(at.passes, e.value, constant(in_.absent)) : e.value, s);
  } else if (!tail_.empty()) {
    const int b = workspace_ >= 0 ? buffer(BufferBinding::row_values, -1, 0, "row", arithmetic_.part(), true)
                                  : buffer(BufferBinding::output, -1, 0, "out_values", arithmetic_.part(), true);
    Expr index = ir::int_const(0);
    for (int v : tail_) index = index * extent(v) + at.coordinate[static_cast<std::size_t>(v)];
    meet(b, ir::var("block") + index, e.value, s);
    s.push_back(ir::assign("filled", ir::bool_const(true)));
  } else if (in_.blocks) {
    insert_in_block(at, e.value, s);
  } else if (workspace_ >= 0) {
    const Expr& coordinate = at.coordinate[static_cast<std::size_t>(workspace_)];
    if (is_numeric()) put_in_slot(coordinate, e.value, s);
    else insert(coordinate, e.value, s);
  } else {
    const Expr& coordinate = at.coordinate[static_cast<std::size_t>(levels_.back())];
    if (is_numeric()) put_next(coordinate, e.value, s);
    else append(static_cast<int>(levels_.size()) - 1, coordinate, &e.value, s);
  }
  const Stmt all = ir::block(std::move(s));
  out.push_back(e.present ? ir::branch(e.present, all) : all);
}

}  // namespace strata::merging
