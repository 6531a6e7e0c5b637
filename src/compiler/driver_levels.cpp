// Levels of the operand that is walked: what its code may read, and which part of them lies in the tensor.
#include <algorithm>

#include "compiler/addresses.h"
#include "format/registered_levels.h"

namespace strata::compiler {

using ir::Expr;
using ir::Stmt;

namespace {

Expr ceil_div(const Expr& e, std::int64_t n) { return n == 1 ? e : ir::floor_div(e + (n - 1), n); }

}  // namespace

int Addresses::crd_buffer(int level) {
  const LevelFacts& f = g_.levels[static_cast<std::size_t>(level)];
  const bool bitmap = f.level.kind == LevelKind::bitmap;
  const std::string name = "crd" + std::to_string(f.number);
  const DType t = f.packed_bits > 0 ? DType::u8 : bitmap ? DType::u64 : g_.driver_type().crd_dtype;
  return params_.buffer({BufferBinding::crd, in_.driver, in_.part, f.number}, name, t, f.packed_bits);
}

Expr Addresses::crd(int level, const Expr& position) {
  const int b = crd_buffer(level);
  const Expr e = ir::load(params_.param(b), b, position);
  return g_.levels[static_cast<std::size_t>(level)].level.kind == LevelKind::bitmap ? e : ir::cast(DType::i64, e);
}

levels::CursorInputs Addresses::cursor_inputs(int level) {
  const LevelFacts& f = g_.levels[static_cast<std::size_t>(level)];
  levels::CursorInputs in;
  in.level = f.level;
  // Only what the kind reads becomes a parameter.
  const bool own = levels::is_registered(f.level.kind);
  const bool ranged = f.contiguous() || f.level.kind == LevelKind::padded || f.level.kind == LevelKind::bitmap ||
                      (own && levels::registered(f.level.kind).reads_size);
  in.lo = ranged || own || f.level.kind == LevelKind::delta ? level_lo(f) : ir::int_const(0);
  in.size = ranged ? level_size(f) : ir::int_const(0);
  in.extent = in.size;
  if (f.level.kind == LevelKind::structured) in.extent = ir::int_const(f.level.arg);
  if (f.level.kind == LevelKind::padded)
    in.extent = scalar(ScalarBinding::level_slots, in_.driver, f.number, f.stem + "_slots");
  in.pos = [this, &f](Expr p) {
    const int b = params_.buffer({BufferBinding::pos, in_.driver, in_.part, f.number}, "pos" + std::to_string(f.number),
                                 g_.driver_type().pos_dtype);
    return ir::cast(DType::i64, ir::load(params_.param(b), b, std::move(p)));
  };
  in.crd = [this, level](Expr p) { return crd(level, p); };
  in.fresh = [this](std::string stem) { return names_.fresh(stem); };
  in.stem = f.stem;
  return in;
}

levels::Window Addresses::clip(const Point& at, int level, bool& clipped) {
  levels::Window w;
  clipped = true;
  for (std::size_t d = 0; d < g_.dims.size(); ++d) {
    const DimFacts& f = g_.dims[d];
    const std::int64_t scale = f.level_scale[static_cast<std::size_t>(level)];
    if (at.checked[d] || scale == 0 || f.exact()) continue;
    const Expr base = dim_coordinate(at, static_cast<int>(d), level);
    if (!base) continue;  // completes later
    if (scale < -1) {
      clipped = false;
      return {};
    }
    const Expr extent = dim_extent(static_cast<int>(d));
    if (scale > 0) {  // 0 <= base + scale * c < extent
      if (f.below_zero) w.begin = both_max(w.begin, ceil_div(ir::int_const(0) - base, scale));
      if (f.beyond) w.end = both_min(w.end, ceil_div(extent - base, scale));
    } else {  // 0 <= base - c < extent
      if (f.below_zero) w.end = both_min(w.end, base + 1);
      if (f.beyond) w.begin = both_max(w.begin, base - extent + 1);
    }
  }
  return w;
}

std::optional<std::pair<Expr, Expr>> Addresses::call_span(int level) {
  if (level != 0) return std::nullopt;
  if (s_.launch.level >= 0) return std::pair{ir::var("begin"), ir::var("end")};
  if (!s_.sliced) return std::nullopt;
  const LevelFacts& f = g_.levels.front();
  const Expr begin = scalar(ScalarBinding::walk_begin, in_.driver, f.number, "walk_begin");
  return std::pair{begin, scalar(ScalarBinding::walk_end, in_.driver, f.number, "walk_end")};
}

std::pair<Expr, Expr> Addresses::flat_span(const Point& at) {
  const auto level = [&](int l) -> const LevelFacts& { return g_.levels[static_cast<std::size_t>(l)]; };
  // Of the children at level l of the positions [from, to).
  const auto below = [&](int l, const std::pair<Expr, Expr>& span) -> std::pair<Expr, Expr> {
    const LevelFacts& f = level(l);
    if (f.level.kind == LevelKind::singleton) return span;
    if (f.level.kind == LevelKind::dense) {
      const Expr size = level_size(f);
      return {span.first * size, span.second * size};
    }
    const levels::CursorInputs in = cursor_inputs(l);
    const Expr from = in.pos(span.first);
    return {from, in.pos(span.second)};
  };
  const auto call = call_span(s_.flat_first);
  std::pair<Expr, Expr> span = call ? *call : below(s_.flat_first, {at.position, at.position + 1});
  for (int l = s_.flat_first + 1; l <= s_.flat_last; ++l) span = below(l, span);
  return span;
}

void Addresses::open_block(Point& at, Stmts& out) {
  if (at.block) return;
  at.block = named(out, "slot", at.position * block_weight(s_.block_begin - 1));
}

std::int64_t Addresses::block_weight(int level) const {
  std::int64_t w = 1;
  for (int l = level + 1; l < g_.num_levels(); ++l) w *= g_.levels[static_cast<std::size_t>(l)].constant_size;
  return w;
}

Expr Addresses::limit(const Point& at, int level) {
  Expr least;
  for (std::size_t d = 0; d < g_.dims.size(); ++d) {
    const DimFacts& f = g_.dims[d];
    const std::int64_t scale = f.level_scale[static_cast<std::size_t>(level)];
    if (scale == 0 || at.checked[d] || f.exact()) continue;
    const Expr base = dim_coordinate(at, static_cast<int>(d), level);
    if (!base) continue;
    if (scale < 0 || f.below_zero) return nullptr;  // the coordinate is tested instead
    least = both_min(least, ceil_div(dim_extent(static_cast<int>(d)) - base, scale));
  }
  return least;
}

}  // namespace strata::compiler
