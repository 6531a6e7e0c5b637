#include "compiler/addresses.h"

#include "strata/error.h"

namespace strata::compiler {

using ir::Expr;
using ir::Stmt;

namespace {

std::string operand_letter(int operand) {
  if (operand < 0) return "out";
  return operand < 8 ? std::string(1, static_cast<char>('a' + operand)) : "t" + std::to_string(operand);
}

}  // namespace

Addresses::Addresses(const Graph& graph, const ProductSchedule& schedule)
    : g_(graph), s_(schedule), in_(*graph.input), arithmetic_(in_.compute), params_(names_) {}

// --- parameters
// -------------------------------------------------------------------------------------------------------

Expr Addresses::scalar(ScalarBinding::Kind kind, int operand, int level, const std::string& name) {
  return params_.scalar({kind, operand, operand == in_.driver ? in_.part : 0, level}, name);
}

Expr Addresses::index_extent(int index) {
  const std::int64_t n = g_.extents[static_cast<std::size_t>(index)];
  if (in_.specialize && n <= 128 && g_.dim_of_index[static_cast<std::size_t>(index)] < 0) return ir::int_const(n);
  return scalar(ScalarBinding::extent, 0, index, index_letter(index) + "_extent");
}

Expr Addresses::dim_extent(int dim) {
  if (const auto n = g_.dims[static_cast<std::size_t>(dim)].remainder_of; n > 0) return ir::int_const(n);
  return scalar(ScalarBinding::dim_extent, in_.driver, dim, operand_letter(in_.driver) + "_dim" + std::to_string(dim));
}

Expr Addresses::level_lo(const LevelFacts& f) {
  if (f.starts_at_zero) return ir::int_const(0);
  return scalar(ScalarBinding::level_lo, in_.driver, f.number, f.stem + "_lo");
}

Expr Addresses::level_size(const LevelFacts& f) {
  if (f.constant_size > 0) return ir::int_const(f.constant_size);
  return scalar(ScalarBinding::level_size, in_.driver, f.number, f.stem + "_size");
}

Expr Addresses::child_position(const Expr& parent, const LevelFacts& f, const Expr& coordinate) {
  const Expr size = level_size(f), lo = level_lo(f);
  return parent * size + (coordinate - lo);
}

Expr Addresses::stride(const DenseAccess& access, int level, StrideKind kind) {
  if (kind == StrideKind::unit) return ir::int_const(1);
  return scalar(ScalarBinding::stride, access.operand, level,
                operand_letter(access.operand) + "_stride" + std::to_string(level));
}

int Addresses::values_buffer(int operand) {
  const DType t = g_.type(operand).dtype;
  return params_.buffer({BufferBinding::values, operand, operand == in_.driver ? in_.part : 0, 0},
                        operand_letter(operand) + "_values", part_dtype(t));
}

Value Addresses::keep(Stmts& out, const std::string& stem, const Value& v) {
  const Expr re = named(out, stem, v.re);
  return {re, v.im ? named(out, stem + "_im", v.im) : nullptr};
}

// --- coordinates
// ------------------------------------------------------------------------------------------------------

Expr Addresses::dim_coordinate(const Point& at, int dim, int except) const {
  const DimFacts& f = g_.dims[static_cast<std::size_t>(dim)];
  Expr sum = ir::int_const(0);
  for (std::size_t b = 0; b < f.batch_scale.size(); ++b)
    if (f.batch_scale[b] != 0)
      sum = sum + const_cast<Addresses*>(this)->scalar(ScalarBinding::batch_coordinate, in_.driver,
                                                       g_.batches[b].number, "batch" + std::to_string(b)) *
                      f.batch_scale[b];
  for (std::size_t l = 0; l < f.level_scale.size(); ++l) {
    const std::int64_t scale = f.level_scale[l];
    if (scale == 0 || static_cast<int>(l) == except) continue;
    if (!at.level[l]) return nullptr;
    sum = scale == -1 ? sum - at.level[l] : sum + at.level[l] * scale;
  }
  return sum;
}

Expr Addresses::index_coordinate(const Point& at, int index) const {
  const int dim = g_.dim_of_index[static_cast<std::size_t>(index)];
  return dim < 0 ? at.free[static_cast<std::size_t>(index)] : dim_coordinate(at, dim);
}

// --- addresses
// --------------------------------------------------------------------------------------------------------

Expr Addresses::stride_of_level(const DenseAccess& access, int level) {
  if (access.operand == in_.driver) {  // walked by its own levels
    const TensorType& t = g_.driver_type();
    const int number = g_.levels[static_cast<std::size_t>(level)].number;
    StrideKind kind = number + 1 == g_.format.num_levels() ? StrideKind::unit : StrideKind::general;
    if (!t.strides.empty()) kind = t.strides[static_cast<std::size_t>(number)];
    return kind == StrideKind::broadcast ? nullptr : stride(access, number, kind);
  }
  Expr sum;
  for (const auto& term : access.terms) {
    const int dim = g_.dim_of_index[static_cast<std::size_t>(term.index)];
    if (dim < 0) continue;
    const std::int64_t scale = g_.dims[static_cast<std::size_t>(dim)].level_scale[static_cast<std::size_t>(level)];
    if (scale == 0) continue;
    const Expr one = stride(access, term.level, term.kind) * scale;
    sum = sum ? sum + one : one;
  }
  return sum;
}

Expr Addresses::stride_of_index(const DenseAccess& access, int index) {
  Expr sum;
  for (const auto& term : access.terms)
    if (term.index == index) {
      const Expr one = stride(access, term.level, term.kind);
      sum = sum ? sum + one : one;
    }
  return sum;
}

bool Addresses::known(const Point& at, const DenseAccess& access) const {
  const auto has = [&](int index) {
    const int dim = g_.dim_of_index[static_cast<std::size_t>(index)];
    return dim < 0 ? at.free[static_cast<std::size_t>(index)] != nullptr
                   : at.checked[static_cast<std::size_t>(dim)] != 0;
  };
  if (access.operand == in_.driver) {
    for (const auto& c : at.level)
      if (!c) return false;
    for (char c : at.checked)
      if (!c) return false;
    return true;
  }
  const auto ids = g_.indices(access.operand);
  for (std::size_t d = 0; d < ids.size(); ++d)
    if (!has(ids[d])) return false;
  return true;
}

void Addresses::settle(Point& at, Stmts& out) {
  for (std::size_t a = 0; a < g_.dense.size(); ++a) {
    const DenseAccess& access = g_.dense[a];
    const bool is_output = access.operand < 0;
    if (is_output || is_waiting(a)) continue;
    if (!at.loaded[a].empty() || !known(at, access)) continue;
    if (access.operand != in_.driver)
      for (std::size_t k = 0; k < access.late_levels.size(); ++k) {
        const int l = access.late_levels[k];
        const TensorType& t = g_.type(access.operand);
        const auto ids = g_.indices(access.operand);
        const auto leaf = [&](int d) {
          const int index = ids[static_cast<std::size_t>(d)];
          if (t.shape[static_cast<std::size_t>(d)] == 1 && g_.extents[static_cast<std::size_t>(index)] != 1)
            return ir::int_const(0);
          return index_coordinate(at, index);
        };
        const auto div = [](const Expr& e, std::int64_t n) { return ir::floor_div(e, n); };
        const auto mod = [](const Expr& e, std::int64_t n) { return ir::floor_mod(e, n); };
        const Expr c = t.format.eval_level<Expr>(l, leaf, div, mod);
        const Expr lo = scalar(ScalarBinding::level_lo, access.operand, l,
                               operand_letter(access.operand) + "_lo" + std::to_string(l));
        const Expr step = scalar(ScalarBinding::stride, access.operand, l,
                                 operand_letter(access.operand) + "_stride" + std::to_string(l));
        at.address[a] = at.address[a] + (c - lo) * step;
      }
    // One value, or one per group of the tile. Careful tiles load behind their test, at the leaf.
    if (depends_on_tile(access) && at.tile_limit) continue;
    if (!depends_on_tile(access)) {
      const Value v = load(at, a, {});
      const std::string name = names_.fresh(operand_letter(access.operand));
      out.push_back(ir::let(name, v.re));
      Value kept{ir::var(name, v.re->type), nullptr};
      if (v.im) kept.im = named(out, name + "i", v.im);
      at.loaded[a] = {kept};
    } else {
      for (const auto& group : at.groups) {
        const Value v = load(at, a, group);
        const std::string name = names_.fresh(operand_letter(access.operand));
        out.push_back(ir::let(name, v.re));
        Value kept{ir::var(name, v.re->type), nullptr};
        if (v.im) kept.im = named(out, name + "i", v.im);
        at.loaded[a].push_back(kept);
      }
    }
    fold(at, a, out);
  }
}

Value Addresses::load(const Point& at, std::size_t a, const Group& group) {
  const DenseAccess& access = g_.dense[a];
  const int buffer = values_buffer(access.operand);
  Expr index = at.address[a];
  if (group.offset != 0)
    if (const Expr s = tile_stride(access)) index = index + s * group.offset;
  return arithmetic_.load(
      params_.param(buffer), buffer, g_.type(access.operand).dtype, index, group.lanes,
      in_.einsum.conjugate.empty() ? false : in_.einsum.conjugate[static_cast<std::size_t>(access.operand)] != 0);
}

Stmt Addresses::enter_level(Point at, int level, const Expr& coordinate, bool clipped, const Body& rest) {
  at.level[static_cast<std::size_t>(level)] = coordinate;
  // Dimensions that are complete now: inside the tensor, and equal where an index is repeated.
  Expr test;
  const auto demand = [&](const Expr& condition) { test = test ? ir::logical_and(test, condition) : condition; };
  for (std::size_t d = 0; d < g_.dims.size(); ++d) {
    const DimFacts& f = g_.dims[d];
    if (at.checked[d] || f.level_scale[static_cast<std::size_t>(level)] == 0) continue;
    const Expr c = dim_coordinate(at, static_cast<int>(d));
    if (!c) continue;
    if (!clipped && f.below_zero) demand(ir::ge(c, ir::int_const(0)));
    if (!clipped && f.beyond) demand(ir::lt(c, dim_extent(static_cast<int>(d))));
    at.checked[d] = 1;
  }
  for (std::size_t d = 0; d < g_.dims.size(); ++d) {
    const DimFacts& f = g_.dims[d];
    if (f.index < 0 || !at.checked[d]) continue;
    const int first = g_.dim_of_index[static_cast<std::size_t>(f.index)];
    if (first == static_cast<int>(d) || !at.checked[static_cast<std::size_t>(first)]) continue;
    if (f.level_scale[static_cast<std::size_t>(level)] == 0 &&
        g_.dims[static_cast<std::size_t>(first)].level_scale[static_cast<std::size_t>(level)] == 0)
      continue;
    demand(ir::eq(dim_coordinate(at, static_cast<int>(d)), dim_coordinate(at, first)));
  }
  Stmts out;
  for (std::size_t a = 0; a < g_.dense.size(); ++a) {
    const DenseAccess& access = g_.dense[a];
    if (access.operand < 0 && at.open) continue;
    const Expr s = stride_of_level(access, level);
    if (!s) continue;
    const LevelFacts& f = g_.levels[static_cast<std::size_t>(level)];
    const Expr moved = access.operand == in_.driver ? coordinate - level_lo(f) : coordinate;
    const Expr sum = at.address[a] + moved * s;
    at.address[a] =
        coordinate->kind == ir::ValueNode::constant ? sum : named(out, operand_letter(access.operand) + "_at", sum);
  }
  settle(at, out);
  out.push_back(rest(std::move(at)));
  const Stmt body = ir::block(std::move(out));
  return test ? ir::branch(test, body) : body;
}

Stmt Addresses::enter_index(Point at, int index, const Expr& coordinate, const Body& rest) {
  at.free[static_cast<std::size_t>(index)] = coordinate;
  Stmts out;
  for (std::size_t a = 0; a < g_.dense.size(); ++a) {
    const Expr s = stride_of_index(g_.dense[a], index);
    if (!s) continue;
    const Expr sum = at.address[a] + coordinate * s;
    at.address[a] = named(out, operand_letter(g_.dense[a].operand) + "_at", sum);
  }
  settle(at, out);
  out.push_back(rest(std::move(at)));
  return ir::block(std::move(out));
}

// --- the function
// -----------------------------------------------------------------------------------------------------

Point Addresses::start(Stmts& out) {
  Point at;
  at.level.resize(g_.levels.size());
  at.free.resize(g_.extents.size());
  at.checked.resize(g_.dims.size());
  at.position = ir::int_const(0);
  at.row.resize(s_.rows.size());
  at.row_base.resize(s_.rows.size());
  at.loaded.resize(g_.dense.size());
  at.folded.resize(g_.dense.size());
  for (const auto& access : g_.dense) {
    Expr address = scalar(ScalarBinding::offset, access.operand, 0, operand_letter(access.operand) + "_offset");
    if (access.operand != in_.driver)
      for (const auto& term : access.terms) {
        const int dim = g_.dim_of_index[static_cast<std::size_t>(term.index)];
        if (dim < 0) continue;
        const auto& scales = g_.dims[static_cast<std::size_t>(dim)].batch_scale;
        for (std::size_t b = 0; b < scales.size(); ++b)
          if (scales[b] != 0) {
            const Expr batch =
                scalar(ScalarBinding::batch_coordinate, in_.driver, g_.batches[b].number, "batch" + std::to_string(b));
            address = address + batch * (stride(access, term.level, term.kind) * scales[b]);
          }
      }
    at.address.push_back(named(out, operand_letter(access.operand) + "_base", address));
  }
  // Dimensions that no level below the batches touches.
  for (std::size_t d = 0; d < g_.dims.size(); ++d)
    if (dim_coordinate(at, static_cast<int>(d))) at.checked[d] = 1;
  settle(at, out);
  return at;
}

void Addresses::fold(Point& at, std::size_t access, Stmts& out) {
  if (s_.accumulate || !in_.optimize || g_.dense_driver || s_.tile_index < 0 || s_.lanes < 2 ||
      s_.block_begin < g_.num_levels())
    return;
  bool repeats = false;
  for (int l = g_.num_levels() - 1; l >= 0 && !at.level[static_cast<std::size_t>(l)]; --l)
    repeats = repeats || g_.levels[static_cast<std::size_t>(l)].level.kind != LevelKind::singleton;
  if (!repeats) return;
  for (std::size_t before = 0; before + 1 < g_.dense.size(); ++before) {
    if (before == access || at.folded[before] || at.folded[access] || at.loaded[before].empty()) continue;
    // The one that has lanes keeps the product.
    const bool keep_before = depends_on_tile(g_.dense[before]) && !depends_on_tile(g_.dense[access]);
    std::vector<Value>& keeper = at.loaded[keep_before ? before : access];
    const std::vector<Value>& other = at.loaded[keep_before ? access : before];
    for (std::size_t g = 0; g < keeper.size(); ++g)
      keeper[g] = kept(out, "f", arithmetic_.mul(keeper[g], other[other.size() == 1 ? 0 : g]));
    at.folded[keep_before ? access : before] = 1;
  }
}

Value Addresses::kept(Stmts& out, const std::string& stem, const Value& v) {
  Value k{named(out, stem, v.re), nullptr};
  if (v.im) k.im = named(out, stem + "_im", v.im);
  return k;
}

bool Addresses::depends_on_tile(const DenseAccess& access) const {
  if (s_.tile_index >= 0)
    return std::any_of(access.terms.begin(), access.terms.end(),
                       [&](const AddressTerm& t) { return t.index == s_.tile_index; });
  return s_.tile_level >= 0 && const_cast<Addresses*>(this)->stride_of_level(access, s_.tile_level) != nullptr;
}

Expr Addresses::tile_stride(const DenseAccess& access) {
  if (s_.tile_index >= 0) return stride_of_index(access, s_.tile_index);
  return s_.tile_level >= 0 ? stride_of_level(access, s_.tile_level) : nullptr;
}

}  // namespace strata::compiler
