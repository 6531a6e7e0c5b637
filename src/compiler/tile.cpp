// Pieces of lanes: the tiled loop over a free index, or over a contiguous level.
#include <algorithm>

#include "compiler/nest.h"

namespace strata::compiler {

using ir::Expr;
using ir::Stmt;

Stmt TiledNest::tile_piece(std::size_t step, const Point& at, const Expr& first, std::vector<Group> groups) {
  Point next = at;
  next.groups = std::move(groups);
  const Step& s = s_.steps[step];
  if (s.index >= 0) return enter_index(std::move(next), s.index, first, [&](Point p) { return emit(step + 1, p); });
  if (s.level < s_.block_begin) {
    const LevelFacts& f = g_.levels[static_cast<std::size_t>(s.level)];
    next.position = s_.is_flat(s.level) ? first : child_position(at.position, f, first);
  }
  return enter_level(std::move(next), s.level, first, true, [&](Point p) { return emit(step + 1, p); });
}

/// [first, last) at run time: whole pieces, then single vectors, then narrower ones, then one by one.
Stmt TiledNest::tile_range(std::size_t step, const Point& at, const Expr& first, const Expr& last) {
  Stmts out;
  const std::string stem =
      s_.tile_index >= 0 ? index_letter(s_.tile_index) : g_.levels[static_cast<std::size_t>(s_.tile_level)].stem;
  Expr from = named(out, stem + "_first", first);
  const Expr to = named(out, stem + "_last", last);
  std::vector<std::vector<Group>> widths;
  std::vector<Group> main;
  for (int v = 0; v < s_.vectors; ++v) main.push_back({std::int64_t{v} * s_.lanes, s_.lanes});
  if (!at.careful) widths.push_back(main);
  if (s_.vectors > 1 && !at.careful) widths.push_back({{0, s_.lanes}});
  // Sums of lanes go from vectors to single elements at once: a tail has one accumulator of its own.
  if (!s_.tile_sums)
    for (int lanes = s_.lanes / 2; lanes > 2 && !at.careful; lanes /= 2) widths.push_back({{0, lanes}});
  if (s_.lanes > 1 || at.careful) widths.push_back({{0, 1}});
  for (std::size_t w = 0; w < widths.size(); ++w) {
    const std::int64_t width = widths[w].back().offset + widths[w].back().lanes;
    const std::string v = names_.fresh(stem);
    // Whole pieces that fit in front of `to`; a range that is empty or reversed (a clipped one) gives none.
    const bool last_one = w + 1 == widths.size();
    const Expr stop = width == 1 ? to : last_one ? to - (width - 1) : named(out, stem + "_stop", to - (width - 1));
    Stmts inner;
    if (w == 0 && s_.stream_level >= 0 && s_.stream_level == s_.tile_level) {
      const LevelFacts& f = g_.levels[static_cast<std::size_t>(s_.tile_level)];
      const Expr position = s_.is_flat(s_.tile_level) ? ir::var(v) : child_position(at.position, f, ir::var(v));
      inner.push_back(emit_prefetch(s_.tile_level, position, s_.lanes * s_.vectors));
    }
    inner.push_back(tile_piece(step, at, ir::var(v), widths[w]));
    out.push_back(ir::loop(v, from, stop, ir::block(std::move(inner)), width));
    if (!last_one)
      from = named(out, stem + "_next", from + ir::floor_div(ir::max(to - from, ir::int_const(0)), width) * width);
  }
  return ir::block(std::move(out));
}

Stmt TiledNest::emit_tile(std::size_t step, const Point& at) {
  const Step& s = s_.steps[step];
  if (s.index >= 0) {
    if (s_.window_index == s.index) {
      // A window as wide as the piece is the common one: the loops over its tails, each of which asks whether there is
      // one, are not for it.
      const std::int64_t width = std::int64_t{s_.lanes} * s_.vectors;
      const Stmt any = tile_range(step, at, ir::var("begin"), ir::var("end"));
      if (s_.lanes == 1) return any;
      const Stmt whole = tile_piece(step, at, ir::var("begin"), pieces(width, s_.lanes));
      return ir::branch(ir::eq(ir::var("end") - ir::var("begin"), ir::int_const(width)), whole, any);
    }
    const Expr extent = index_extent(s.index);
    if (extent->kind != ir::ExprNode::constant || at.careful) return tile_range(step, at, ir::int_const(0), extent);
    const std::int64_t n = extent->value.to_int64(), width = std::int64_t{s_.lanes} * s_.vectors;
    if (n == 0) return ir::block({});
    Stmts out;
    const std::int64_t whole = n / width;
    if (whole == 1) out.push_back(tile_piece(step, at, ir::int_const(0), pieces(width, s_.lanes)));
    if (whole > 1) {
      const std::string v = names_.fresh(index_letter(s.index));
      out.push_back(ir::loop(v, ir::int_const(0), ir::int_const(whole * width),
                             tile_piece(step, at, ir::var(v), pieces(width, s_.lanes)), width));
    }
    if (whole * width < n)
      out.push_back(tile_piece(step, at, ir::int_const(whole * width), pieces(n - whole * width, s_.lanes)));
    return ir::block(std::move(out));
  }

  const LevelFacts& f = g_.levels[static_cast<std::size_t>(s.level)];
  if (s_.is_flat(s.level)) {
    const auto span = flat_span(at);
    return tile_range(step, at, span.first, span.second);
  }
  if (s.level < s_.block_begin) {
    bool clipped = false;
    levels::Window window = clip(at, s.level, clipped);
    const levels::CursorInputs in = cursor_inputs(s.level);
    const auto outer = call_span(s.level);
    if (outer || s_.window_level == s.level) {
      const Expr from = outer ? in.lo + outer->first : ir::var("begin"),
                 to = outer ? in.lo + outer->second : ir::var("end");
      window.begin = window.begin ? ir::max(window.begin, from) : from;
      window.end = window.end ? ir::min(window.end, to) : to;
    }
    const levels::Cursor cursor = levels::open(in, at.position, window);
    return tile_range(step, at, cursor.counted->begin, cursor.counted->end);
  }
  Stmts out;
  Point here = at;
  open_block(here, out);
  if (here.careful && !s_.tile_sums) {
    // Rows of the last block that lie outside: one by one, each behind a test of its own at the leaf.
    here.tile_limit = limit(here, s.level);
    out.push_back(tile_piece(step, here, ir::int_const(0), pieces(f.constant_size, 1)));
    return ir::block(std::move(out));
  }
  const Stmt whole = tile_piece(step, here, ir::int_const(0), pieces(f.constant_size, s_.lanes));
  if (Expr bound = s_.tile_sums ? limit(here, s.level) : nullptr) {
    bound = named(out, f.stem + "_end", bound);
    const std::string v = names_.fresh(f.stem);
    out.push_back(ir::branch(ir::ge(bound, ir::int_const(f.constant_size)), whole,
                             ir::loop(v, ir::int_const(0), bound, tile_piece(step, here, ir::var(v), {{0, 1}}))));
  } else {
    out.push_back(whole);
  }
  return ir::block(std::move(out));
}

}  // namespace strata::compiler
