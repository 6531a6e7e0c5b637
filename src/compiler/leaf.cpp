// Products, accumulators, stores.
#include <algorithm>

#include "compiler/sums.h"
#include "strata/error.h"

namespace strata::compiler {

using ir::Expr;
using ir::Stmt;

namespace {
constexpr std::int64_t tail_group = 1000;  ///< sums of lanes: the accumulator of single elements
}

Value Sums::accumulator(const Accumulator& a) const {
  const ir::Type t{arithmetic_.part(), a.lanes};
  return {ir::var(a.re, t), a.im.empty() ? nullptr : ir::var(a.im, t)};
}

Sums::Key Sums::key(const Point& at, std::int64_t group) const {
  Key k(at.row.begin(), at.row.end());
  k.push_back(group);
  k.push_back(at.chain);
  return k;
}

std::int64_t Sums::group_id(std::size_t number, const Group& group) const {
  if (!s_.tile_sums) return static_cast<std::int64_t>(number);
  if (group.lanes == 1) return tail_group;
  return s_.tile_level >= s_.block_begin ? group.lanes : static_cast<std::int64_t>(number);
}

std::vector<Group> Sums::accumulator_groups(const Point& at) const {
  if (s_.tile_index >= 0) return at.groups;
  if (s_.tile_level < 0) return {{0, 1}};
  if (s_.tile_level >= s_.block_begin) {
    const std::int64_t n = g_.levels[static_cast<std::size_t>(s_.tile_level)].constant_size;
    std::vector<Group> groups = groups_of(n, at.careful && !s_.tile_sums ? 1 : s_.lanes);
    if (s_.tile_sums) {
      const bool may_clip = std::any_of(g_.dims.begin(), g_.dims.end(), [&](const DimFacts& d) {
        return !d.exact() && d.level_scale[static_cast<std::size_t>(s_.tile_level)] != 0;
      });
      if (may_clip && groups.back().lanes != 1) groups.push_back({0, 1});
    }
    return groups;
  }
  std::vector<Group> groups;
  for (int v = 0; v < s_.vectors; ++v) groups.push_back({std::int64_t{v} * s_.lanes, s_.lanes});
  if (s_.lanes > 1) groups.push_back({0, 1});
  return groups;
}

void Sums::for_each_row(const Point& at, const std::function<void(Point)>& f) const {
  const std::function<void(Point, std::size_t)> go = [&](Point p, std::size_t row) {
    if (row == s_.rows.size()) return f(std::move(p));
    for (std::int64_t r = 0; r < s_.row_pieces[row]; ++r) {
      p.row[row] = r;
      go(p, row + 1);
    }
  };
  go(at, 0);
}

Sums::Sums(const Graph& graph, const ProductSchedule& schedule)
    : Addresses(graph, schedule), output_storage_(schedule.wide_output ? in_.compute : in_.output.dtype) {}

Stmt Sums::emit_split(std::size_t step, const Point& at) {
  std::vector<int> held = s_.rows;
  if (s_.tile_level >= s_.block_begin && !s_.tile_sums) held.push_back(s_.tile_level);
  Expr whole;
  bool careful = false;
  for (std::size_t d = 0; d < g_.dims.size(); ++d) {
    const DimFacts& f = g_.dims[d];
    const bool touches =
        std::any_of(held.begin(), held.end(), [&](int l) { return f.level_scale[static_cast<std::size_t>(l)] != 0; });
    if (!touches || f.exact()) continue;
    // The largest coordinate that these rows can reach, if all else is known here.
    Expr most = ir::int_const(0);
    bool ok = !f.below_zero;
    for (int l = 0; l < g_.num_levels() && ok; ++l) {
      const std::int64_t scale = f.level_scale[static_cast<std::size_t>(l)];
      if (scale == 0) continue;
      if (std::find(held.begin(), held.end(), l) != held.end() && scale > 0)
        most = most + ir::int_const(scale * (g_.levels[static_cast<std::size_t>(l)].constant_size - 1));
      else if (at.level[static_cast<std::size_t>(l)]) most = most + at.level[static_cast<std::size_t>(l)] * scale;
      else ok = false;
    }
    for (std::int64_t b : f.batch_scale) ok = ok && b == 0;
    if (!ok) {
      careful = true;
      continue;
    }
    const Expr fits = ir::lt(most, dim_extent(static_cast<int>(d)));
    whole = whole ? ir::logical_and(whole, fits) : fits;
  }
  Point slow = at;
  slow.careful = true;
  if (careful) return emit(step + 1, slow);
  if (!whole) return emit(step + 1, at);
  const Stmt fast = emit(step + 1, at);
  return ir::branch(whole, fast, emit(step + 1, slow));
}

Stmt Sums::emit_open(std::size_t step, const Point& at) {
  const auto outside = accumulators_;
  accumulators_.clear();
  Stmts out;
  const auto groups = accumulator_groups(at);
  const int chains = at.careful || !s_.sums.empty() ? 1 : s_.chains;  // copies are of the innermost sum
  for_each_row(at, [&](Point row) {
    for (std::size_t k = 0; k < groups.size(); ++k)
      for (int c = 0; c < chains; ++c) {
        row.chain = c;
        const std::int64_t id = group_id(k, groups[k]);
        const Key name = key(row, id);
        if (accumulators_.count(name)) continue;
        if (c > 0 && id == tail_group) continue;
        Accumulator a{names_.fresh("acc"), "", groups[k].lanes};
        const Value zero = arithmetic_.zero(a.lanes);
        out.push_back(ir::declare(a.re, zero.re));
        if (zero.im) {
          a.im = names_.fresh("acc_im");
          out.push_back(ir::declare(a.im, zero.im));
        }
        accumulators_[name] = a;
      }
  });
  Point inner = at;
  inner.open = true;
  if (s_.open_times >= 0) {
    inner.met = names_.fresh("met");
    out.push_back(ir::declare(inner.met, ir::int_const(0)));
  }
  out.push_back(emit(step + 1, inner));
  if (s_.open_times >= 0)
    out.push_back(
        ir::branch(ir::lt(ir::int_const(0), ir::var(inner.met)), scale_accumulators(at, s_.open_times, groups)));
  // One statement each, here and wherever names are given: the order in which C++ evaluates arguments differs by
  // compiler.
  const Stmt fresh = s_.applies_beta ? store_all(at, false) : nullptr, add = store_all(at, true);
  out.push_back(fresh ? ir::branch(arithmetic_.is_zero(beta_), fresh, add) : add);
  accumulators_ = outside;
  return ir::block(std::move(out));
}

/// The accumulators of every row go to the output: combined in a fixed order, scaled.
Stmt Sums::store_all(const Point& at, bool read) {
  Stmts out;
  const auto groups = accumulator_groups(at);
  const DenseAccess& access = g_.output();
  const Expr along = s_.tile_sums ? nullptr : tile_stride(access);
  const bool unit = along && ir::is_constant(along, 1);
  for_each_row(at, [&](Point row) {
    const auto combined = [&](std::int64_t id) {
      std::vector<Value> parts;
      for (int c = 0; c < s_.chains; ++c) {
        row.chain = c;
        if (const auto found = accumulators_.find(key(row, id)); found != accumulators_.end())
          parts.push_back(accumulator(found->second));
      }
      while (parts.size() > 1) {
        std::vector<Value> half;
        for (std::size_t k = 0; k + 1 < parts.size(); k += 2) half.push_back(arithmetic_.add(parts[k], parts[k + 1]));
        if (parts.size() % 2) half.push_back(parts.back());
        parts = half;
      }
      return parts.front();
    };
    // Enters the rows' coordinates for their addresses and, where careful, their tests.
    Point entered = row;
    entered.open = false;
    for (auto& l : entered.loaded) l = {arithmetic_.zero()};  // nothing is loaded here
    const std::function<Stmt(Point, std::size_t)> enter = [&](Point p, std::size_t k) -> Stmt {
      if (k < s_.rows.size()) {
        const Expr c = p.row_base[k] ? p.row_base[k] + p.row[k] : ir::int_const(p.row[k]);
        return enter_level(p, s_.rows[k], c, !p.careful, [&, k](Point q) { return enter(std::move(q), k + 1); });
      }
      const Expr base = p.address.back();
      Stmts stores;
      if (s_.tile_sums) {
        Value sum{};
        std::vector<std::int64_t> done;
        for (std::size_t g = 0; g < groups.size(); ++g) {
          const std::int64_t id = group_id(g, groups[g]);
          if (std::find(done.begin(), done.end(), id) != done.end()) continue;
          done.push_back(id);
          Value v = combined(id);
          if (sum.re && sum.lanes() == v.lanes()) sum = arithmetic_.add(sum, v);
          else if (sum.re) sum = arithmetic_.add(arithmetic_.reduce(sum), arithmetic_.reduce(v));
          else sum = v;
        }
        stores.push_back(update_output(base, arithmetic_.reduce(sum), 1, read));
        return ir::block(std::move(stores));
      }
      const Expr bound = p.careful && s_.tile_level >= s_.block_begin ? limit(p, s_.tile_level) : nullptr;
      for (std::size_t g = 0; g < groups.size(); ++g) {
        const Value v = combined(group_id(g, groups[g]));
        Stmts one;
        if (groups[g].lanes == 1 || unit) {
          one.push_back(update_output(along ? base + along * groups[g].offset : base, v, groups[g].lanes, read));
        } else {
          for (int lane = 0; lane < groups[g].lanes; ++lane)
            one.push_back(update_output(along ? base + along * (groups[g].offset + lane) : base,
                                        arithmetic_.lane(v, lane), 1, read));
        }
        const Stmt s = ir::block(std::move(one));
        stores.push_back(bound ? ir::branch(ir::lt(ir::int_const(groups[g].offset), bound), s) : s);
      }
      return ir::block(std::move(stores));
    };
    out.push_back(enter(entered, 0));
  });
  return ir::block(std::move(out));
}

/// out[index] = alpha * value, plus beta * out or plus out where it is read.
Stmt Sums::update_output(const Expr& index, const Value& value, int lanes, bool read) {
  const ir::BufferParam& out = params_.param(output_);
  const auto unless_one = [&](const Expr& is_one, const Value& plain, const Value& scaled) {
    return is_one ? arithmetic_.either(is_one, plain, scaled) : scaled;
  };
  Value result = unless_one(alpha_is_one_, value, arithmetic_.mul(alpha_, value));
  Stmts body;
  const Expr at = named(body, "at", index);
  if (read) {
    const Value old = arithmetic_.load(out, output_, output_storage_, at, lanes, false);
    if (s_.applies_beta && !s_.initializes)
      result = unless_one(beta_is_one_, arithmetic_.add(old, result), arithmetic_.mul_add(beta_, old, result));
    else result = unless_one(alpha_is_one_, arithmetic_.add(old, value), arithmetic_.mul_add(alpha_, value, old));
    if (result.im) result = keep(body, "sum", result);  // both parts read both of what is there
  }
  body.push_back(arithmetic_.store(out, output_, output_storage_, at, result));
  return ir::block(std::move(body));
}

Expr Sums::slot(const Point& at) const {
  Expr position = at.block ? at.block : at.position;
  if (s_.early_level >= 0) {
    const LevelFacts& f = g_.levels[static_cast<std::size_t>(s_.early_level)];
    position = const_cast<Sums*>(this)->child_position(position, f, at.level[static_cast<std::size_t>(s_.early_level)]);
  }
  if (at.block)
    for (int l = s_.block_begin; l < g_.num_levels(); ++l)
      position = position + at.level[static_cast<std::size_t>(l)] * block_weight(l);
  return position;
}

Stmt Sums::emit_leaf(const Point& at) {
  Stmts out;
  const bool sparse = !g_.dense_driver;
  Expr position = slot(at);
  if (sparse && g_.driver_type().shared_value) position = ir::int_const(0);
  const bool lanes_in_driver = sparse && s_.tile_level >= 0 && !g_.driver_type().shared_value;
  const auto driver_value = [&](const Group& group) {
    const int b = values_buffer(in_.driver);
    const bool conjugate =
        !in_.einsum.conjugate.empty() && in_.einsum.conjugate[static_cast<std::size_t>(in_.driver)] != 0;
    return arithmetic_.load(params_.param(b), b, g_.driver_type().dtype, position + group.offset, group.lanes,
                            conjugate);
  };
  // Factors that all groups share.
  std::vector<Value> shared;
  if (sparse && !lanes_in_driver) shared.push_back(keep(out, "v", driver_value({})));
  for (std::size_t a = 0; a + 1 < g_.dense.size(); ++a)
    if (!depends_on_tile(g_.dense[a]) && !is_waiting(a) && !at.folded[a]) shared.push_back(at.loaded[a].front());
  // A complex alpha multiplies last, where it is not 1.
  const bool alpha_last = !s_.accumulate && alpha_is_one_;
  if (!s_.accumulate && !alpha_last) shared.push_back(alpha_);
  const std::vector<Group> groups = at.groups.empty() ? std::vector<Group>{{0, 1}} : at.groups;
  const bool single = groups.size() == 1;
  // One accumulator and scalars alone: the last factor goes into the fma itself.
  std::vector<Value> factors;
  bool any_tiled = lanes_in_driver;
  for (std::size_t a = 0; a + 1 < g_.dense.size(); ++a)
    any_tiled = any_tiled || (depends_on_tile(g_.dense[a]) && !is_waiting(a));
  if (!shared.empty()) {
    const std::size_t folded = any_tiled || !single ? shared.size() : shared.size() - 1;
    if (folded > 0) {
      Value product = shared[0];
      for (std::size_t k = 1; k < folded; ++k) product = arithmetic_.mul(product, shared[k]);
      factors.push_back(folded > 1 ? keep(out, "s", product) : product);
    }
    for (std::size_t k = folded; k < shared.size(); ++k) factors.push_back(shared[k]);
  }

  for (std::size_t g = 0; g < groups.size(); ++g) {
    Stmts one;
    std::vector<Value> all = factors;
    if (lanes_in_driver) all.push_back(keep(one, "v", driver_value(groups[g])));
    for (std::size_t a = 0; a + 1 < g_.dense.size(); ++a) {
      if (!depends_on_tile(g_.dense[a]) || is_waiting(a) || at.folded[a]) continue;
      all.push_back(at.loaded[a].empty() ? keep(one, "x", load(at, a, groups[g])) : at.loaded[a][g]);
    }
    Value first = all[0];
    for (std::size_t k = 1; k + 1 < all.size(); ++k) first = arithmetic_.mul(first, all[k]);
    const auto add_to = [&](const Value& old) {
      const Value plain =
          all.size() > 1
              ? arithmetic_.mul_add(first, all.back(), old)
              : arithmetic_.add(old, first.lanes() == old.lanes() ? first : arithmetic_.broadcast(first, old.lanes()));
      if (!alpha_last) return plain;
      const Value product = all.size() > 1 ? arithmetic_.mul(first, all.back()) : first;
      return arithmetic_.either(alpha_is_one_, plain, arithmetic_.mul_add(alpha_, product, old));
    };
    if (s_.accumulate) {
      const std::int64_t id = group_id(g, groups[g]);
      Key name = key(at, id);
      if (id == tail_group) name.back() = 0;
      const auto found = accumulators_.find(name);
      if (found == accumulators_.end()) throw InternalError("no accumulator for this place of the nest");
      const Value sum = add_to(accumulator(found->second));
      if (sum.im) {  // the imaginary part still needs the old real part of its own operands only
        const std::string re = names_.fresh("sum");
        one.push_back(ir::let(re, sum.re));
        one.push_back(ir::assign(found->second.im, sum.im));
        one.push_back(ir::assign(found->second.re, ir::var(re, sum.re->type)));
      } else {
        one.push_back(ir::assign(found->second.re, sum.re));
      }
    } else {
      const Expr along = tile_stride(g_.output());
      const Expr index = named(one, "at", along ? at.address.back() + along * groups[g].offset : at.address.back());
      const ir::BufferParam& buffer = params_.param(output_);
      Value sum = add_to(arithmetic_.load(buffer, output_, output_storage_, index, groups[g].lanes, false));
      if (sum.im) sum = keep(one, "sum", sum);
      one.push_back(arithmetic_.store(buffer, output_, output_storage_, index, sum));
    }
    Stmt s = ir::block(std::move(one));
    if (at.tile_limit) s = ir::branch(ir::lt(ir::int_const(groups[g].offset), at.tile_limit), s);
    out.push_back(s);
  }
  if (!at.met.empty()) out.push_back(ir::assign(at.met, ir::int_const(1)));
  return ir::block(std::move(out));
}

}  // namespace strata::compiler
