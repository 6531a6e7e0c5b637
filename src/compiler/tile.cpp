// The tiled loop in pieces: over a free index, or over a contiguous level.
#include <algorithm>

#include "compiler/nest.h"

namespace strata::compiler {

using ir::Expr;
using ir::Stmt;

Stmt TiledNest::tile_piece(std::size_t step, const Point& at, const Expr& first, std::vector<Group> groups) {
  Point next = at;
  next.groups = std::move(groups);
  const ScheduleStep& s = s_.steps[step];
  if (s.index >= 0) return enter_index(std::move(next), s.index, first, [&](Point p) { return emit(step + 1, p); });
  if (s.level < s_.block_begin) {
    const LevelFacts& f = g_.levels[static_cast<std::size_t>(s.level)];
    next.position = s_.is_flat(s.level) ? first : child_position(at.position, f, first);
  }
  return enter_level(std::move(next), s.level, first, true, [&](Point p) { return emit(step + 1, p); });
}

Stmt TiledNest::tile_range(std::size_t step, const Point& at, const Expr& first, const Expr& last) {
  const std::string stem =
      s_.tile_index >= 0 ? index_letter(s_.tile_index) : g_.levels[static_cast<std::size_t>(s_.tile_level)].stem;
  // Sums of lanes go from vectors to single elements at once: a tail has one accumulator of its own.
  const Pieces pieces{.lanes = s_.lanes, .vectors = s_.vectors, .halves = !s_.tile_sums, .singly = at.careful};
  const bool streams = s_.stream_level >= 0 && s_.stream_level == s_.tile_level;
  return loop_in_pieces(names_, stem, first, last, pieces,
                        [&](const Expr& v, const std::vector<Group>& groups, bool whole) {
                          Stmts inner;
                          if (whole && streams) {
                            const LevelFacts& f = g_.levels[static_cast<std::size_t>(s_.tile_level)];
                            const Expr position = s_.is_flat(s_.tile_level) ? v : child_position(at.position, f, v);
                            inner.push_back(emit_prefetch(s_.tile_level, position, s_.lanes * s_.vectors));
                          }
                          inner.push_back(tile_piece(step, at, v, groups));
                          return ir::block(std::move(inner));
                        });
}

Stmt TiledNest::emit_tile(std::size_t step, const Point& at) {
  const ScheduleStep& s = s_.steps[step];
  if (s.index >= 0) {
    if (s_.window_index == s.index) {
      // A window as wide as the piece is the common one: the loops over its tails, each of which asks whether there is
      // one, are not for it.
      const std::int64_t width = std::int64_t{s_.lanes} * s_.vectors;
      const Stmt any = tile_range(step, at, ir::var("begin"), ir::var("end"));
      if (s_.lanes == 1) return any;
      const Stmt whole = tile_piece(step, at, ir::var("begin"), groups_of(width, s_.lanes));
      return ir::branch(ir::eq(ir::var("end") - ir::var("begin"), ir::int_const(width)), whole, any);
    }
    const Expr extent = index_extent(s.index);
    if (extent->kind != ir::ValueNode::constant || at.careful) return tile_range(step, at, ir::int_const(0), extent);
    const std::int64_t n = extent->value.to_int64();
    return loop_in_pieces(
        names_, index_letter(s.index), n, {.lanes = s_.lanes, .vectors = s_.vectors},
        [&](const Expr& v, const std::vector<Group>& groups, bool) { return tile_piece(step, at, v, groups); });
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
    out.push_back(tile_piece(step, here, ir::int_const(0), groups_of(f.constant_size, 1)));
    return ir::block(std::move(out));
  }
  const Stmt whole = tile_piece(step, here, ir::int_const(0), groups_of(f.constant_size, s_.lanes));
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
