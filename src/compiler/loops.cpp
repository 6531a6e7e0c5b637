// Loops over the coordinates that operands store.
#include <algorithm>
#include <limits>

#include "compiler/nest.h"
#include "strata/error.h"

namespace strata::merging {

namespace {

Expr truth(const Expr& e) { return e ? e : ir::bool_const(true); }
bool contains(const std::vector<int>& list, int k) { return std::find(list.begin(), list.end(), k) != list.end(); }

}  // namespace

bool Nest::has_level(int k, int var, const Place& at) const {
  const auto& vars = operand(k).vars;
  const auto l = static_cast<std::size_t>(at.level[static_cast<std::size_t>(k)]);
  if (l + static_cast<std::size_t>(operand(k).tail) >= vars.size()) return false;
  if (holds_mask_ && k == in_.mask && var == workspace_) return false;  // its bits are asked instead
  if (k == in_.earlier) return false;                                   // what comes is compared with it
  return !operand(k).dense && vars[l] == var;
}

Stmt Nest::emit(int var, const Place& at) {
  if (!in_.held.empty() && var == in_.held.front().var && !at.singly) return emit_held(at);
  if (var == in_.num_vars && !(var == summed_from_ && !register_open_)) return leaf(at);
  if (var == summed_from_ && !register_open_) return accumulate(var, at);
  if (register_open_ && var > summed_from_ && var - 1 < std::ssize(within_) &&
      !within_[static_cast<std::size_t>(var - 1)].empty())
    return sum_within(var, at);
  if (var == counted_from_) return count_by_row(at);
  if (var == counted_to_) return ir::block({count_term(at), emit_loop(var, at)});
  if (var != drained_) return emit_loop(var, at);
  const Stmt whole = is_numeric() ? fill_row(var, at) : ir::block({emit_loop(var, at), drain()});
  return holds_mask_ ? with_mask_held(at, whole) : whole;
}

Stmt Nest::emit_loop(int var, const Place& at) {
  if (var == in_.tile) return emit_tile(at);
  Stmts out;
  std::vector<Fiber> cursors;
  for (int k = 0; k < static_cast<int>(in_.operands.size()); ++k)
    if (operand(k).twin < 0 && has_level(k, var, at) &&
        kind(k, at.level[static_cast<std::size_t>(k)]) != LevelKind::dense)
      cursors.push_back(open(var, k, at, out));
  const Set set = iteration_set(in_, [&](int k) {
    const int own = operand(k).twin < 0 ? k : operand(k).twin;
    return std::any_of(cursors.begin(), cursors.end(), [&](const Fiber& c) { return c.operand == own; }) ? own : -1;
  });
  std::string line = loop_over(var) + " in " + set.to_string([this](int k) { return name_of_operand(k); });
  if (in_.pattern >= 0 && !cursors.empty() && (set.kind != Set::cursor || set.operand != in_.pattern))
    throw InternalError("merge: a result in a pattern has slots for its coordinates alone");
  if (set.kind == Set::everything) {
    lines_.push_back(line);
    out.push_back(every_coordinate(var, at, cursors));
    return ir::block(std::move(out));
  }
  auto driving = drivers(set, [this](int k) { return cost(k); });
  // Of an intersection the others step along where they are no longer by much: cheaper than a search for each.
  for (int k : required(set))
    if (!contains(driving, k) && cost(k) <= search_factor * cost(driving[0])) driving.push_back(k);
  if (cursors.size() > 1 && driving.size() == 1) line += ", " + name_of_operand(driving[0]) + " drives";
  lines_.push_back(line);
  if (cursors.size() > 1)
    for (Fiber& c : cursors) leave_out_unused(var, c, out);
  if (driving.size() > 1) {
    out.push_back(merge(var, at, cursors, driving, set));
  } else {
    const auto driver =
        std::find_if(cursors.begin(), cursors.end(), [&](const Fiber& c) { return c.operand == driving[0]; });
    out.push_back(one_driver(var, at, cursors, static_cast<std::size_t>(driver - cursors.begin()), set));
  }
  return ir::block(std::move(out));
}

/// The loop over a variable that dense operands and the dense result alone have, in pieces of several vectors.
Stmt Nest::emit_tile(const Place& at) {
  const int var = in_.tile;
  lines_.push_back(loop_over(var) + " in all, " + std::to_string(in_.vectors) +
                   (in_.vectors > 1 ? " vectors of " : " vector of ") + std::to_string(in_.lanes) + " at a time");
  bool told = false;
  const compiler::Piece piece = [&](const Expr& first, const std::vector<compiler::Group>& groups, bool) {
    Place inside = at;
    inside.groups = groups;
    const std::size_t lines = lines_.size();
    const Stmt body = enter(var, std::move(inside), first, {}, {});
    if (told) lines_.resize(lines);  // the same loops for another width
    told = true;
    return body;
  };
  const auto loop = [&](int vectors) {
    const std::int64_t n = constant_extent(var);
    // What is stored may be stored twice, what is added may not.
    const compiler::Pieces pieces{.lanes = in_.lanes,
                                  .vectors = vectors,
                                  .whole = n > 0 && n % in_.lanes == 0,
                                  .overlap = !inverted_ && !in_.joins};
    if (n > 0 && !is_cut(var)) return loop_in_pieces(names_, letter(var), n, pieces, piece);
    const Expr first = first_of(var), last = last_of(var);
    const Stmt any = loop_in_pieces(names_, letter(var), first, last, pieces, piece);
    if (n == 0) return any;
    return ir::branch(ir::eq(last - first, ir::int_const(n)), loop_in_pieces(names_, letter(var), n, pieces, piece),
                      any);
  };
  if (inverted_ || !can_check_sums()) return loop(in_.vectors);
  return checked({in_.lanes, 1}, [&] { return loop(one_chain_ ? 1 : in_.vectors); });
}

Stmt Nest::checked(const std::vector<int>& lanes, const std::function<Stmt()>& loops) {
  Stmts out;
  watch_products(lanes, out);
  out.push_back(loops());
  const std::size_t told = lines_.size();
  const Expr unsure = is_unsure();
  one_chain_ = true;
  out.push_back(ir::branch(unsure, loops()));
  one_chain_ = false;
  lines_.resize(told);  // the same loops
  return ir::block(std::move(out));
}

Stmt Nest::every_coordinate(int var, const Place& at, std::vector<Fiber>& cursors) {
  if (cursors.empty()) {
    if (!at.held.empty() && constant_extent(var) > 0) return sum_of_block(var, at);
    if (const Stmt chosen = chosen_coordinates(var, at)) return chosen;
    if (const Stmt places = places_in_vectors(var, at)) return places;
    if (!at.singly && (!at.in_block.empty() || piece_of_block(var).rows > 0)) return slots_of_block(var, at);
  }
  Stmts out, body, after;
  const std::string v = names_.fresh(letter(var));
  for (Fiber& c : cursors) {
    start(c, out);
    const std::string has = names_.fresh("has_" + name_of_operand(c.operand));
    body.push_back(ir::let(has, stands_at(c, ir::var(v))));
    c.has = ir::var(has, {DType::boolean, 1});
    find_next(c, ir::var(v), body);
    after.push_back(advance(c));
  }
  Expr first = first_of(var), last;
  const Hint hint =
      static_cast<std::size_t>(var) < in_.hints.size() ? in_.hints[static_cast<std::size_t>(var)] : Hint::none;
  Place inside = at;
  if (!in_.bounds.empty() && hint != Hint::unrolled) {
    last = last_of(var);
    inside.in_bounds = keep_bounds(var, at, first, last);
  }
  if (cursors.empty() && hint == Hint::none && in_.pattern >= 0 && !register_open_ && var + 1 == summed_from_ &&
      (in_.bounds.empty() || inside.in_bounds))
    if (const int slots = slots_together(var); slots > 1) {
      lines_.back() += ", " + std::to_string(slots) + " slots together";
      return coordinates_in_chains(var, inside, first, last ? last : last_of(var), slots, slots);
    }
  if (cursors.empty() && register_open_ && open_.chains.size() > 1 && in_.held.empty() && var + 1 == in_.num_vars)
    return coordinates_in_chains(var, inside, first, last_of(var), static_cast<int>(open_.chains.size()));
  if (cursors.empty() && hint == Hint::none && register_open_ && open_.copies > 1 && var + 2 == in_.num_vars)
    return coordinates_in_chains(var, inside, first, last_of(var), open_.copies);
  if (cursors.empty() && in_.pattern >= 0 && at.rows == 1 && has_identical_rows(var))
    return identical_rows(var, at, first, last_of(var));
  if (cursors.empty()) prefetch_by_row(var, at, ir::var(v), body);
  body.push_back(enter(var, std::move(inside), ir::var(v), cursors, {}));
  body.insert(body.end(), after.begin(), after.end());
  if (register_open_ && !sums_.empty() && var + 1 == in_.num_vars) out.push_back(add_in_vectors(var, at, first));
  if (!last) last = last_of(var);
  auto kind = ir::LoopKind::serial;
  if (hint == Hint::simd && cursors.empty()) kind = ir::LoopKind::simd;
  if (hint == Hint::unrolled && var > 0) kind = ir::LoopKind::unrolled;
  out.push_back(ir::loop(v, first, last, ir::block(std::move(body)), 1, kind));
  return ir::block(std::move(out));
}

Stmt Nest::one_driver(int var, const Place& at, std::vector<Fiber>& cursors, std::size_t driver, const Set& set) {
  Fiber& leading = cursors[driver];
  const bool alone = cursors.size() == 1;
  Stmts out, body;
  if (alone && walks_by_slots(leading)) leading.next.clear();
  if (alone && leading.has_unused && leading.operand == in_.pattern && at.slots == 1 && slots_together(var) > 1)
    leave_out_unused(var, leading, out);
  const bool plain = !leading.steps && leading.next.empty() && !leading.has_unused;
  const bool copies = open_.chains.size() > 1 || (leading.few > 0 && in_.held.empty());
  if (alone && plain && register_open_ && copies && (in_.held.empty() ? var + 1 == in_.num_vars : is_walked_last(var)))
    return in_chains(var, at, leading, set);
  if (alone && plain && leading.operand == in_.pattern && !register_open_ && at.slots == 1)
    if (const int slots = slots_together(var); slots > 1) {
      if (at.rows > 1) return slots_of_identical_rows(var, at, leading, set);
      lines_.back() += ", " + std::to_string(slots) + " slots together";
      out.push_back(in_chains(var, at, leading, set, slots));
      return ir::block(std::move(out));
    }
  const std::string v = names_.fresh(letter(var));
  const Expr coordinate = ir::var(v), p = ir::var(leading.p);
  const auto o = static_cast<std::size_t>(leading.operand);
  if (alone && plain && kind(leading.operand, leading.level) == LevelKind::singleton && !at.next[o] && !at.present[o]) {
    out.push_back(ir::let(leading.p, leading.begin));  // one child, and no loop
    out.push_back(ir::let(v, here(leading)));
    out.push_back(enter(var, at, coordinate, cursors, set));
    return ir::block(std::move(out));
  }
  // Alone, a step belongs to each round of a loop that counts; otherwise it has been taken when the round begins.
  if (alone && leading.steps) body.push_back(leading.steps->step);
  if (alone && plain)
    if (const Expr last = last_element_of(var, leading, out)) prefetch_rows(at, leading, last, body);
  body.push_back(ir::let(v, here(leading)));
  find_next(leading, coordinate, body);
  const auto needed = required(set);
  Expr more = ir::lt(p, leading.end);
  if (leading.has_unused) more = ir::logical_and(more, is_used(var, leading, p));
  for (std::size_t k = 0; k < cursors.size(); ++k) {
    if (k == driver) continue;
    Fiber& c = cursors[k];
    start(c, out);
    seek(c, coordinate, leading, body);
    const std::string has = names_.fresh("has_" + name_of_operand(c.operand));
    body.push_back(ir::let(has, stands_at(c, coordinate)));
    c.has = ir::var(has, {DType::boolean, 1});
    find_next(c, coordinate, body);
    if (contains(needed, c.operand)) more = ir::logical_and(more, ir::lt(ir::var(c.p), c.end));
  }
  body.push_back(enter(var, at, coordinate, cursors, set));
  if (alone && leading.next.empty() && !leading.has_unused) {
    if (leading.steps)
      for (const auto& state : leading.steps->state) out.push_back(ir::declare(state.name, state.initial));
    if (leading.origin) out.push_back(ir::loop(leading.p, leading.origin, leading.begin, leading.steps->step));
    out.push_back(ir::loop(leading.p, leading.begin, leading.end, ir::block(std::move(body))));
    return ir::block(std::move(out));
  }
  body.push_back(advance(leading));
  Stmts first;
  start(leading, first);
  out.insert(out.begin(), first.begin(), first.end());
  out.push_back(ir::while_loop(more, ir::block(std::move(body))));
  return ir::block(std::move(out));
}

Expr Nest::last_element_of(int var, const Fiber& only, Stmts& out) {
  const bool chooses = var == choosing_variable(in_) || (only.operand == in_.pattern && slots_together(var) > 1);
  if (in_.prefetch.ahead == 0 || !chooses || one_chain_) return nullptr;
  Expr last = last_element(only, out);
  if (last) lines_.back() += ", rows " + std::to_string(in_.prefetch.ahead) + " ahead";
  return last;
}

/// The loop over one operand's positions, several at a time, each for a total of its own.
Stmt Nest::in_chains(int var, const Place& at, const Fiber& only, const Set& set, int slots) {
  Stmts out;
  const Expr last = last_element_of(var, only, out);
  const int chains = slots > 1 ? slots : static_cast<int>(open_.chains.size()) / open_.copies;
  std::optional<std::size_t> told;  // the same loops inside, for every copy
  const auto copy = [&](const Expr& position, int chain, bool is_last) {
    Fiber c = only;
    Place inside = at;
    inside.chain = slots > 1 ? chain : at.chain + chain;
    const bool alone = chain == 0 && is_last;
    inside.slots = alone ? 1 : slots;
    c.p = names_.fresh(only.p + "_of");
    Stmts one{ir::let(c.p, position)};
    if (last) prefetch_rows(at, c, last, one);
    const std::string v = names_.fresh(letter(var));
    one.push_back(ir::let(v, here(c)));
    one.push_back(enter(var, std::move(inside), ir::var(v), {c}, set));
    if (!told) told = lines_.size();
    lines_.resize(*told);
    return ir::block(std::move(one));
  };
  if (only.few == 0 || slots > 1) out.push_back(loop_in_chains(names_, only.p, only.begin, only.end, chains, copy));
  else
    for (int q = 0; q < only.few; ++q) out.push_back(copy(only.begin + q, q % chains, q + 1 == only.few));
  return ir::block(std::move(out));
}

/// Coordinates that no operand lists, several at a time: each for a total of its own, or slots of the pattern's dense
/// last level.
Stmt Nest::coordinates_in_chains(int var, const Place& at, const Expr& first, const Expr& last, int chains, int slots) {
  std::optional<std::size_t> told;
  const int step = slots == 1 && var + 1 < in_.num_vars ? static_cast<int>(open_.chains.size()) / chains : 1;
  const auto copy = [&](const Expr& coordinate, int chain, bool is_last) {
    Place inside = at;
    inside.chain = chain * step;
    inside.slots = chain == 0 && is_last ? 1 : slots;
    const Stmt one = enter(var, std::move(inside), coordinate, {}, {});
    if (!told) told = lines_.size();
    lines_.resize(*told);
    return one;
  };
  return loop_in_chains(names_, letter(var), first, last, chains, copy);
}

/// Steps to the least coordinate of the driving cursors. In the innermost loop a first copy runs while all of them have
/// elements left: it reads without asking, so that nothing but the end of a fiber is a jump.
Stmt Nest::merge(int var, const Place& at, const std::vector<Fiber>& cursors, const std::vector<int>& driving,
                 const Set& set) {
  Stmts out;
  for (const Fiber& c : cursors) start(c, out);
  const auto needed = required(set);
  const bool all_needed = std::all_of(driving.begin(), driving.end(), [&](int k) { return contains(needed, k); });
  const bool innermost = var + 1 == in_.num_vars;
  if (all_needed || innermost) out.push_back(merge_while(var, at, cursors, driving, set, true));
  // Of two that unite one is left.
  const bool two = innermost && set.kind == Set::either && cursors.size() == 2 && driving.size() == 2;
  if (two)
    for (std::size_t k : {0, 1}) out.push_back(rest_of(var, at, cursors, k, set));
  else if (!all_needed) out.push_back(merge_while(var, at, cursors, driving, set, false));
  return ir::block(std::move(out));
}

Stmt Nest::rest_of(int var, Place at, std::vector<Fiber> cursors, std::size_t which, const Set& set) {
  for (std::size_t k = 0; k < cursors.size(); ++k) {
    cursors[k].has = ir::bool_const(k == which);
    at.readable[static_cast<std::size_t>(cursors[k].operand)] = k == which;
  }
  Fiber c = cursors[which];
  c.has = nullptr;
  const std::string v = names_.fresh(letter(var));
  Stmts body{ir::let(v, here(c)), enter(var, at, ir::var(v), cursors, set), advance(c)};
  return ir::while_loop(ir::lt(ir::var(c.p), c.end), ir::block(std::move(body)));
}

Stmt Nest::merge_while(int var, Place at, std::vector<Fiber> cursors, const std::vector<int>& driving, const Set& set,
                       bool all_inside) {
  Stmts body, after;
  const auto needed = required(set);
  Expr certain, possible, least;
  std::vector<std::pair<Fiber*, Expr>> heads;
  for (Fiber& c : cursors) {
    const Expr p = ir::var(c.p), inside = ir::lt(p, c.end);
    const bool always = contains(needed, c.operand);
    if (!contains(driving, c.operand)) {
      if (always) certain = both(certain, inside);
      continue;
    }
    if (always || all_inside) certain = both(certain, inside);
    else possible = possible ? ir::logical_or(possible, inside) : inside;
    const std::string head = names_.fresh("at_" + name_of_operand(c.operand));
    const Expr here = this->here(c);
    const bool guarded = !always && !all_inside;
    body.push_back(ir::let(
        head, guarded ? ir::select(inside, here, ir::int_const(std::numeric_limits<std::int64_t>::max())) : here));
    heads.emplace_back(&c, ir::var(head));
    least = least ? ir::min(least, heads.back().second) : heads.back().second;
    at.readable[static_cast<std::size_t>(c.operand)] = all_inside;
  }
  const std::string v = names_.fresh(letter(var));
  const Expr coordinate = ir::var(v);
  body.push_back(ir::let(v, least));
  for (auto& [c, head] : heads) {
    const std::string has = names_.fresh("has_" + name_of_operand(c->operand));
    body.push_back(ir::let(has, ir::eq(head, coordinate)));
    c->has = ir::var(has, {DType::boolean, 1});
    find_next(*c, coordinate, body);
    after.push_back(advance(*c));
  }
  for (Fiber& c : cursors) {
    if (c.has) continue;
    seek(c, coordinate, *heads.front().first, body);
    const std::string has = names_.fresh("has_" + name_of_operand(c.operand));
    body.push_back(ir::let(has, stands_at(c, coordinate)));
    c.has = ir::var(has, {DType::boolean, 1});
    find_next(c, coordinate, body);
  }
  body.push_back(enter(var, at, coordinate, cursors, set));
  body.insert(body.end(), after.begin(), after.end());
  return ir::while_loop(both(certain, possible), ir::block(std::move(body)));
}

Expr Nest::holds(const Set& set, const std::vector<Fiber>& cursors) const {
  if (set.kind == Set::everything) return ir::bool_const(true);
  if (set.kind == Set::cursor) {
    for (const Fiber& c : cursors)
      if (c.operand == set.operand) return truth(c.has);
  }
  Expr out;
  for (const Set& p : set.parts) {
    const Expr e = holds(p, cursors);
    out = !out ? e : set.kind == Set::both ? ir::logical_and(out, e) : ir::logical_or(out, e);
  }
  return out;
}

Expr Nest::dense_mask(const Place& at) {
  const DType storage = operand(in_.mask).type.dtype;
  const Arithmetic arithmetic(ir::compute_dtype(storage));
  const int b = buffer(BufferBinding::values, in_.mask, 0, "mask_values", part_dtype(storage));
  const Expr zero =
      arithmetic.is_zero(arithmetic.load(params_.param(b), b, storage, dense_index(in_.mask, at), 1, false));
  return in_.complement ? zero : ir::logical_not(zero);
}

bool Nest::keep_bounds(int var, const Place& at, Expr& first, Expr& last) {
  // A loop of constant length is worth a test in each round.
  if (constant_extent(var) > 0) return false;
  for (std::size_t b = 0; b < in_.bounds.size(); ++b) {
    const auto& terms = in_.bounds[b].terms;
    std::int64_t own = 0;
    bool complete = true;
    for (const auto& [t, c] : terms) {
      if (t == var) own = c;
      complete = complete && t <= var;
    }
    if (!complete || own == 0) continue;
    if (own != 1 && own != -1) return false;
    Expr rest = scalar(ScalarBinding::bound, -1, static_cast<int>(b), "bound" + std::to_string(b));
    for (const auto& [t, c] : terms)
      if (t != var) rest = rest - at.coordinate[static_cast<std::size_t>(t)] * c;
    if (own == 1) last = ir::min(last, rest);
    else first = ir::max(first, ir::int_const(1) - rest);
  }
  return true;
}

Expr Nest::inside_bounds(int var, const Place& at) {
  if (at.in_bounds || at.whole) return nullptr;
  Expr test;
  for (std::size_t b = 0; b < in_.bounds.size(); ++b) {
    const auto& terms = in_.bounds[b].terms;
    int last = -1;
    for (const auto& [v, c] : terms) last = std::max(last, v);
    if (last != var) continue;
    Expr sum;
    for (const auto& [v, c] : terms) {
      const Expr term = at.coordinate[static_cast<std::size_t>(v)] * c;
      sum = sum ? sum + term : term;
    }
    const int number = static_cast<int>(b);
    test = both(test, ir::lt(sum, scalar(ScalarBinding::bound, -1, number, "bound" + std::to_string(b))));
  }
  return test;
}

Stmt Nest::enter(int var, Place at, const Expr& coordinate, const std::vector<Fiber>& cursors, const Set& set) {
  at.coordinate[static_cast<std::size_t>(var)] = coordinate;
  Expr test;
  // A union of the very cursors that were merged holds wherever the loop stops.
  const bool merged = set.kind == Set::either && std::all_of(set.parts.begin(), set.parts.end(),
                                                             [](const Set& p) { return p.kind == Set::cursor; });
  if (!merged) test = holds(set, cursors);
  const auto certain = required(set);
  Stmts out;
  bool known = std::ranges::none_of(in_.operands, [](const Operand& o) { return o.missing.has_value(); }),
       changed = false;
  for (int k = 0; k < static_cast<int>(in_.operands.size()); ++k) {
    if (!has_level(k, var, at)) {
      known = known && (operand(k).dense || !at.present[static_cast<std::size_t>(k)]);
      continue;
    }
    const auto o = static_cast<std::size_t>(k);
    if (operand(k).twin >= 0) {  // which stands before it
      const auto twin = static_cast<std::size_t>(operand(k).twin);
      at.position[o] = at.position[twin];
      at.next[o] = at.next[twin];
      at.present[o] = at.present[twin];
      at.readable[o] = at.readable[twin];
      ++at.level[o];
      if (const auto batch = batch_.find(operand(k).twin); batch != batch_.end()) batch_[k] = batch->second;
      continue;
    }
    const auto c = std::find_if(cursors.begin(), cursors.end(), [&](const Fiber& x) { return x.operand == k; });
    if (c != cursors.end()) {
      at.position[o] = ir::var(c->p);
      at.next[o] = c->next.empty() ? nullptr : ir::var(c->next);
      at.present[o] = contains(certain, k) ? nullptr : c->has;
      changed = true;
    } else {
      const Expr place = at.position[o] * extent(var) + coordinate;
      const std::string p = names_.fresh("p" + letter(var) + name_of_operand(k));
      out.push_back(ir::let(p, place));
      at.position[o] = ir::var(p);
      known = known && !at.present[o];
    }
    ++at.level[o];
    if (at.level[o] == operand(k).type.batch_levels) batch_[k] = std::exchange(at.position[o], ir::int_const(0));
    const bool last = at.level[o] == static_cast<int>(operand(k).vars.size());
    if (k == in_.mask && in_.complement && last) {
      const Expr free = at.present[o] ? ir::logical_not(at.present[o]) : ir::bool_const(false);
      test = both(test, free);
    }
  }
  if (in_.mask >= 0 && operand(in_.mask).dense) {
    const auto& vars = operand(in_.mask).vars;
    if (!vars.empty() && *std::max_element(vars.begin(), vars.end()) == var) {
      // Where values meet in memory, what is masked adds nothing: no jump that guesses wrong for every element.
      const bool nothing_inside =
          var + 1 == in_.num_vars && in_.dense_result && inverted_ && in_.combine != Combine::first;
      if (nothing_inside) at.passes = dense_mask(at);
      else test = both(test, dense_mask(at));
    }
  }
  if (holds_mask_ && var == workspace_) test = both(test, held_mask(coordinate));
  test = both(inside_bounds(var, at), test);
  at.in_bounds = false;
  if (var + 1 < in_.num_vars) hoist(var, at, out);
  if (var == in_.tile && summed_from_ < 0) know_groups(at, out);
  const Expr idle = annihilated(var, at);
  Stmts before;
  if (idle) std::swap(before, out);
  if (changed) at.holds = known && set.kind != Set::everything;
  const int level = level_of_[static_cast<std::size_t>(var)];
  const bool parent = level >= 0 && !in_.blocks && var != workspace_ && level + 1 < static_cast<int>(levels_.size());
  if (!tail_.empty() && var == workspace_) {
    gather_block(var + 1, at, coordinate, out);
  } else if (!tail_.empty() && level >= 0 && !parent) {
    append_block(var + 1, at, coordinate, out);
  } else if (!parent) {
    out.push_back(emit(var + 1, at));
  } else {
    const std::string start = names_.fresh("start");
    out.push_back(ir::let(start, size(level + 1)));
    out.push_back(emit(var + 1, at));
    append_parent(level, coordinate, ir::var(start), out);
  }
  if (idle) {
    before.push_back(ir::branch(ir::logical_not(idle), ir::block(std::move(out))));
    out = std::move(before);
  }
  const Stmt body = ir::block(std::move(out));
  return test ? ir::branch(test, body) : body;
}

}  // namespace strata::merging
