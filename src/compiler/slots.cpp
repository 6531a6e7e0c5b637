// Sums in the slots of a pattern, several side by side: rows that they read come from memory at the same time, slots of
// a block share what they read, and to add up the lanes of one vector takes as long as of four.
#include <algorithm>
#include <utility>

#include "compiler/results.h"

namespace strata::merging {

namespace {

constexpr int together = 4;                ///< slots that are stored by one vector
constexpr std::int64_t most_vectors = 32;  ///< of one sum
constexpr std::size_t most_terms = 128;    ///< vectors of several sums that stand as straight code

}  // namespace

bool Results::walks_by_slots(const Fiber& c) const {
  constexpr double short_run = 16;
  if (c.next.empty()) return false;
  const bool is_short = operand(c.operand).fibers.back() < short_run;
  if (c.operand == in_.pattern) return is_short;
  // Added in memory, each by itself, or all to one sum; and no other operand's elements are looked for.
  return in_.dense_result && (summed_from_ < 0 || (register_open_ && is_short)) &&
         std::ranges::count(in_.operands, false, &Operand::dense) == 1;
}

bool Results::sums_in_slots() const {
  if (in_.pattern < 0 || summed_from_ + 1 != in_.num_vars || in_.ring || in_.lanes < together || !in_.few_terms ||
      vectors_of_sums() == 0)
    return false;
  return constant_extent(summed_from_) / in_.lanes <= most_vectors;
}

int Results::slots_together(int var) const {
  if (!sums_in_slots()) return 1;
  // The variables before the sum are those of the pattern's levels.
  const auto& levels = operand(in_.pattern).type.levels;
  const auto level = levels.begin() + var;
  if (var + 1 == summed_from_ && level->kind == LevelKind::dense) return constant_extent(var) == 0 ? together : 1;
  if (!in_.bounds.empty()) return 1;
  const auto is_singleton = [](const Level& l) { return l.kind == LevelKind::singleton; };
  const bool listed = level->kind == LevelKind::compressed || level->kind == LevelKind::padded || is_singleton(*level);
  const bool in_order = listed && std::all_of(level + 1, levels.end(), is_singleton);
  return in_order ? together : 1;
}

/// A few chains, where the other slots do not fill the time that an addition takes.
int Results::chains_of_slot() const {
  const std::int64_t count = constant_extent(summed_from_) / in_.lanes;
  return count <= 4 ? 1 : count <= 8 ? 2 : 4;
}

int Results::sums_held() const { return in_.lanes * static_cast<int>(size_of(in_.compute)) >= 64 ? 16 : 8; }

Results::BlockPiece Results::piece_of_block(int var) const {
  const int last = summed_from_ - 1;
  if (in_.pattern < 0 || var > last || var + 1 < last || !sums_in_slots()) return {};
  const auto size = [&](int v) {
    const bool dense = v > 0 && kind(in_.pattern, v) == LevelKind::dense;
    const auto& hints = in_.hints;
    const bool free = static_cast<std::size_t>(v) >= hints.size() || hints[static_cast<std::size_t>(v)] == Hint::none;
    return dense && free ? constant_extent(v) : 0;
  };
  const std::int64_t columns = size(last), rows = var == last ? 1 : size(var);
  if (columns == 0 || rows == 0) return {};
  const auto largest = [](std::int64_t n, std::int64_t most) {
    while (n % most != 0) --most;
    return most;
  };
  BlockPiece piece{.columns = largest(columns, together)};
  piece.rows = largest(rows, std::min<std::int64_t>(together, sums_held() / piece.columns));
  return piece.rows * piece.columns > 1 ? piece : BlockPiece{};
}

Stmt Results::sum_of_slot(int var, const Place& given) {
  Place& place = waiting_.emplace_back(given);
  place.coordinate[static_cast<std::size_t>(var)] = ir::int_const(0);
  if (given.chain == 0) lines_.push_back(loop_over(var) + " in all, in vectors of " + std::to_string(in_.lanes));
  if (given.chain + 1 < given.slots) return ir::block({});
  Stmts out;
  std::vector<Place> slots = std::exchange(waiting_, {});
  const std::int64_t terms = constant_extent(var), rest = terms % in_.lanes;
  const auto count = static_cast<std::size_t>(terms / in_.lanes);
  std::vector<Value> all(slots.size());
  const auto add = [&](std::size_t s, const Expr& from, std::int64_t offset, Value sum, Stmts& to) {
    Place at = slots[s];
    at.coordinate[static_cast<std::size_t>(var)] = from;
    at.group = {offset, in_.lanes};
    Expr present;
    return with_term(arithmetic_, sum, at, present, to);
  };
  // (In which order a slot's terms are added does not depend on what else is summed, but for blocks.)
  const bool block = slots.front().rows == 1 && slots.size() > together;
  if (!block || count * slots.size() <= most_terms) {
    const std::size_t chains = block ? 1 : static_cast<std::size_t>(chains_of_slot());
    std::vector<std::vector<Value>> sums(slots.size(), std::vector<Value>(chains));
    // Slot by slot where the addresses of all that is read side by side would not stay in registers.
    constexpr std::size_t most_addresses = 8;
    const auto rows = static_cast<std::size_t>(
        std::ranges::count_if(in_.operands, [&](const Operand& o) { return o.dense && o.has(var); }));
    const bool by_slot = slots.size() <= together && rows * slots.size() > most_addresses;
    for (std::size_t n = 0; n < count * slots.size(); ++n) {
      const std::size_t v = by_slot ? n % count : n / slots.size(), s = by_slot ? n / count : n % slots.size();
      Value& sum = sums[s][v % chains];
      sum = named("dot", add(s, ir::int_const(0), static_cast<std::int64_t>(v) * in_.lanes, sum, out), out);
    }
    for (std::size_t s = 0; s < slots.size(); ++s) {
      auto& parts = sums[s];
      for (; parts.size() > 1; parts.resize(parts.size() / 2))
        for (std::size_t k = 0; k < parts.size() / 2; ++k)
          parts[k] = named("dot", combine(parts[2 * k], parts[2 * k + 1]), out);
      all[s] = parts[0];
    }
  } else {
    for (Value& sum : all) {
      const std::string name = names_.fresh("dot");
      out.push_back(ir::declare(name, start_of_lanes()));
      sum = {ir::var(name, {in_.compute, in_.lanes}), nullptr};
    }
    const std::string v = names_.fresh(letter(var));
    Stmts body;
    for (std::size_t s = 0; s < slots.size(); ++s)
      body.push_back(ir::assign(all[s].re->name, add(s, ir::var(v), 0, all[s], body).re));
    out.push_back(ir::loop(v, ir::int_const(0), ir::int_const(terms - rest), ir::block(std::move(body)), in_.lanes));
  }
  for (std::size_t s = 0; s < slots.size() && rest > 0; ++s)
    all[s] = named("dot", combine(all[s], rest_of_terms(slots[s], terms, rest, out)), out);
  store_slots(slots, std::move(all), out);
  return ir::block(std::move(out));
}

/// Those that follow one another by one vector. (Of a piece of a block its columns do, and its rows where it has whole
/// ones.)
void Results::store_slots(std::span<const Place> slots, std::vector<Value> sums, Stmts& out) {
  const std::size_t columns = slots.front().in_block.empty() ? slots.size() : slots.front().in_block.size();
  const bool whole_rows =
      columns == slots.size() || static_cast<std::int64_t>(columns) == constant_extent(summed_from_ - 1);
  const bool several = slots.size() % together == 0 && (whole_rows || columns % together == 0);
  const bool values = several && has_values_of_slots();
  if (!values)
    for (std::size_t s = 0; s < slots.size(); ++s)
      sums[s] = named("dot", times_factors(arithmetic_, sums[s], slots[s], out), out);
  for (std::size_t s = 0; s < slots.size(); s += several ? together : 1) {
    if (!several) {
      put(slots[s], {nullptr, joined_lanes({sums[s].re}, out)}, out);
      continue;
    }
    std::vector<Expr> each;
    for (std::size_t k = 0; k < together; ++k) each.push_back(sums[s + k].re);
    Value all = joined_lanes(std::move(each), out);
    if (values) all = times_values_of_slots(slots.subspan(s, together), named("sums", all, out), out);
    put(slots[s], {nullptr, all}, out);
  }
}

/// Are all factors of a slot's sum values that stand in the slots, as they are computed with?
bool Results::has_values_of_slots() const {
  return std::ranges::all_of(outside_, [&](const Multiplier& f) {
    const ElementwiseNode& n = in_.nodes[static_cast<std::size_t>(child_of(f))];
    if (n.kind != ElementwiseNode::access || n.no_sign) return false;
    const Operand& o = operand(n.operand);
    return (n.operand == in_.pattern || o.twin == in_.pattern) && !o.type.shared_value && !o.missing &&
           o.type.dtype == in_.compute;
  });
}

Value Results::times_values_of_slots(std::span<const Place> slots, Value sums, Stmts& out) {
  for (const Multiplier& f : outside_) {
    const int k = in_.nodes[static_cast<std::size_t>(child_of(f))].operand;
    const int b = buffer(BufferBinding::values, k, 0, name_of_operand(k) + "_values", arithmetic_.part());
    const Value v = arithmetic_.load(params_.param(b), b, in_.compute, slot(k, slots.front()),
                                     static_cast<int>(slots.size()), false);
    sums = named("sums", arithmetic_.mul(sums, v), out);
  }
  return outside_.empty() ? sums : without_sign(arithmetic_, sums);
}

}  // namespace strata::merging
