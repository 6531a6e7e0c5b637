// Levels as loops.
#include <algorithm>

#include "compiler/walk.h"
#include "format/registered_levels.h"
#include "strata/error.h"

namespace strata::compiler {

using ir::Expr;
using ir::Stmt;

namespace {

constexpr std::int64_t run_stride = 8;  ///< elements of a long run of which one coordinate is looked at
constexpr std::int64_t prefetch_bytes =
    8192;  ///< measured: hardware prefetchers stop at 4 KB; 8 KB ahead is 1.6-2x on streams

}  // namespace

Stmt Walk::emit_prefetch(int level, const Expr& position, int iterations) {
  const LevelFacts& f = g_.levels[static_cast<std::size_t>(level)];
  Stmts out;
  const bool has_crd = f.level.kind == LevelKind::compressed || f.level.kind == LevelKind::singleton ||
                       f.level.kind == LevelKind::padded;
  if (has_crd && f.packed_bits == 0 && (!s_.is_flat(level) || s_.flat_is_read))
    out.push_back(ir::prefetch(
        crd_buffer(level), position + prefetch_bytes / static_cast<std::int64_t>(size_of(g_.driver_type().crd_dtype))));
  std::int64_t slots = 1;
  for (int l = level + 1; l < g_.num_levels(); ++l) {
    const LevelFacts& b = g_.levels[static_cast<std::size_t>(l)];
    slots *= b.level.kind == LevelKind::structured ? b.level.arg : b.constant_size > 0 ? b.constant_size : 1;
  }
  if (!g_.driver_type().shared_value) {
    const int values = values_buffer(in_.driver);
    const DType part = part_dtype(g_.driver_type().dtype);
    const std::int64_t width = static_cast<std::int64_t>(size_of(part)),
                       per = static_cast<std::int64_t>(size_of(g_.driver_type().dtype)) / width;
    const std::int64_t lines = std::clamp<std::int64_t>(iterations * slots * per * width / 64, 1, 8);
    for (std::int64_t k = 0; k < lines; ++k)
      out.push_back(ir::prefetch(values, position * (slots * per) + (prefetch_bytes + 64 * k) / width));
  }
  return ir::block(std::move(out));
}

Stmt Walk::counted_loop(const std::string& stem, const Expr& first, const Expr& last, int chains, int prefetched,
                        const std::function<Stmt(const Expr&, int, bool)>& body) {
  std::function<Stmt(const Expr&, int)> before;
  if (prefetched >= 0)
    before = [&](const Expr& position, int copies) { return emit_prefetch(prefetched, position, copies); };
  return loop_in_chains(names_, stem, first, last, chains, before, body);
}

Stmt Walk::emit_level(std::size_t step, const Point& at) {
  const int l = s_.steps[step].level;
  const LevelFacts& f = g_.levels[static_cast<std::size_t>(l)];
  const levels::CursorInputs in = cursor_inputs(l);
  levels::Window window;
  bool clipped = false;
  if (f.contiguous()) window = clip(at, l, clipped);
  const auto outer = call_span(l);
  if (f.contiguous() && (outer || s_.window_level == l)) {
    const Expr from = outer ? in.lo + outer->first : ir::var("begin"),
               to = outer ? in.lo + outer->second : ir::var("end");
    // A chunk lies in the range already; a window has to meet the clipped range.
    window.begin = outer && !window.begin ? from : both_max(window.begin, from);
    window.end = outer && !window.end ? to : both_min(window.end, to);
  }
  levels::Cursor cursor = levels::open(in, at.position, window);
  if (f.contiguous() && outer) {  // the chunk decides alone
    cursor.counted->begin = window.begin;
    cursor.counted->end = window.end;
  }
  if (outer && f.level.kind == LevelKind::compressed) {
    cursor.counted->begin = outer->first;
    cursor.counted->end = outer->second;
  }
  const bool flat = s_.is_flat(l);
  if (flat) {
    const auto span = flat_span(at);
    cursor.counted->begin = span.first;
    cursor.counted->end = span.second;
  }
  const auto inside = [&](const levels::Cursor& c, int chain) {
    Point next = at;
    next.position = l == s_.early_level ? at.position : c.position;
    next.chain = chain;
    const Stmt rest =
        enter_level(std::move(next), l, c.coordinate, clipped, [&](Point p) { return emit(step + 1, p); });
    return ir::block({c.enter, c.used ? ir::branch(c.used, rest) : rest});
  };
  Stmts out{cursor.before};
  for (const auto& v : cursor.state) out.push_back(ir::declare(v.name, v.initial));
  const int prefetched = s_.stream_level == l && !at.careful ? l : -1;
  if (f.level.kind == LevelKind::singleton && !flat) {
    out.push_back(ir::let(cursor.counted->variable, cursor.counted->begin));
    out.push_back(inside(cursor, at.chain));
  } else if (!cursor.counted) {
    out.push_back(cursor.settle);
    out.push_back(ir::while_loop(cursor.valid, ir::block({inside(cursor, at.chain), cursor.advance, cursor.settle})));
  } else if (f.level.kind == LevelKind::structured && f.level.arg <= 8) {
    for (std::int64_t k = 0; k < f.level.arg; ++k) {
      const levels::Cursor c = levels::open(in, at.position);
      out.push_back(ir::block({ir::let(c.counted->variable, ir::int_const(k)), inside(c, at.chain)}));
    }
  } else if (s_.unroll_level == l && s_.chains > 1 && !at.careful) {
    // Every copy has variables of its own; a carried state passes from copy to copy, and at the end back to the loop's.
    std::vector<std::string> carried;
    const Expr& begin = cursor.counted->begin;
    // A window may end before it begins (the whole piece lies beyond the extent); rounded to chains it would begin
    // before itself.
    const Expr end = window.begin || window.end ? ir::max(begin, cursor.counted->end) : cursor.counted->end;
    out.push_back(
        counted_loop("q" + f.stem, begin, end, s_.chains, prefetched, [&](const Expr& q, int chain, bool last) {
          const levels::Cursor c = levels::open(in, at.position, window);
          Stmts copy{ir::let(c.counted->variable, q)};
          if (chain == 0) {
            carried.clear();
            for (const auto& v : cursor.state) carried.push_back(v.name);
          }
          for (std::size_t k = 0; k < carried.size(); ++k) {
            copy.push_back(ir::declare(c.state[k].name, ir::var(carried[k])));
            carried[k] = c.state[k].name;
          }
          copy.push_back(inside(c, chain));
          if (last)
            for (std::size_t k = 0; k < carried.size(); ++k)
              copy.push_back(ir::assign(cursor.state[k].name, ir::var(carried[k])));
          return ir::block(std::move(copy));
        }));
  } else {
    Stmts inner;
    if (prefetched >= 0) inner.push_back(emit_prefetch(l, cursor.position, 1));
    inner.push_back(emit_rows_ahead(at, l, cursor.position));
    inner.push_back(inside(cursor, at.chain));
    out.push_back(
        ir::loop(cursor.counted->variable, cursor.counted->begin, cursor.counted->end, ir::block(std::move(inner))));
  }
  return ir::block(std::move(out));
}

Stmt Walk::emit_run(std::size_t step, const Point& at) {
  const ScheduleStep& s = s_.steps[step];
  const auto outer = call_span(s.level);
  levels::Cursor cursor = levels::open(cursor_inputs(s.level), at.position);
  Stmts out;
  const Expr first = outer ? outer->first : cursor.counted->begin;
  const Expr last = outer ? outer->second : named(out, "last", cursor.counted->end);
  const std::string p = names_.fresh("first_slot"), e = names_.fresh("next_slot");
  out.push_back(ir::declare(p, first));
  Stmts inner{ir::declare(e, ir::var(p) + 1)};
  std::vector<Expr> coordinates;
  for (int l = s.level; l <= s.last; ++l)
    coordinates.push_back(named(inner, g_.levels[static_cast<std::size_t>(l)].stem, crd(l, ir::var(p))));
  const auto goes_on = [&](std::int64_t further) {
    const Expr at_e = ir::var(e) + further;
    Expr same = ir::lt(at_e, last);
    for (int l = s.level; l <= s.last; ++l)
      same = ir::logical_and(same, ir::eq(crd(l, at_e), coordinates[static_cast<std::size_t>(l - s.level)]));
    return same;
  };
  // Coordinates ascend: what lies between two that are the same is the same too. (Runs of pairs are short.)
  if (s.level == s.last)
    inner.push_back(ir::while_loop(goes_on(run_stride - 1), ir::assign(e, ir::var(e) + run_stride)));
  inner.push_back(ir::while_loop(goes_on(0), ir::assign(e, ir::var(e) + 1)));
  Point next = at;
  next.run_begin = ir::var(p);
  next.run_end = ir::var(e);
  next.position = ir::var(p);
  const std::function<Stmt(Point, int)> descend = [&](Point place, int l) -> Stmt {
    if (l > s.last) return emit(step + 1, place);
    const Expr c = coordinates[static_cast<std::size_t>(l - s.level)];
    return enter_level(std::move(place), l, c, false, [&, l](Point p2) { return descend(std::move(p2), l + 1); });
  };
  inner.push_back(descend(next, s.level));
  inner.push_back(ir::assign(p, ir::var(e)));
  out.push_back(ir::while_loop(ir::lt(ir::var(p), last), ir::block(std::move(inner))));
  return ir::block(std::move(out));
}

Stmt Walk::emit_slots(std::size_t step, const Point& at) {
  const int below = s_.steps[step].level;  // the singleton level that follows
  return counted_loop("q", at.run_begin, at.run_end, s_.unroll_level == below && !at.careful ? s_.chains : 1,
                      s_.stream_level == below ? below : -1, [&](const Expr& q, int chain, bool) {
                        Point next = at;
                        next.position = q;
                        next.chain = chain;
                        return ir::block({emit_rows_ahead(next, below, q), emit(step + 1, next)});
                      });
}

Stmt Walk::emit_free(std::size_t step, const Point& at) {
  const int index = s_.steps[step].index;
  const std::string v = names_.fresh(index_letter(index));
  const Stmt body = enter_index(at, index, ir::var(v), [&](Point p) { return emit(step + 1, p); });
  const bool window = s_.window_index == index;
  return ir::loop(v, window ? ir::var("begin") : ir::int_const(0), window ? ir::var("end") : index_extent(index), body);
}

Stmt Walk::emit_row_tile(std::size_t step, const Point& at) {
  const ScheduleStep& s = s_.steps[step];
  const auto row = static_cast<std::size_t>(std::find(s_.rows.begin(), s_.rows.end(), s.level) - s_.rows.begin());
  const std::string v = names_.fresh(g_.levels[static_cast<std::size_t>(s.level)].stem + "_piece");
  Point next = at;
  next.row_base[row] = ir::var(v);
  return ir::loop(v, ir::int_const(0), ir::int_const(g_.levels[static_cast<std::size_t>(s.level)].constant_size),
                  emit(step + 1, next), s.piece);
}

Stmt Walk::emit_constant(std::size_t step, const Point& at) {
  const ScheduleStep& s = s_.steps[step];
  const LevelFacts& f = g_.levels[static_cast<std::size_t>(s.level)];
  Stmts out;
  Point here = at;
  open_block(here, out);
  const auto found = std::find(s_.rows.begin(), s_.rows.end(), s.level);
  if (found != s_.rows.end()) {
    const auto row = static_cast<std::size_t>(found - s_.rows.begin());
    for (std::int64_t r = 0; r < s_.row_pieces[row]; ++r) {
      Point next = here;
      next.row[row] = r;
      const Expr c = here.row_base[row] ? here.row_base[row] + r : ir::int_const(r);
      out.push_back(
          enter_level(std::move(next), s.level, c, !here.careful, [&](Point p) { return emit(step + 1, p); }));
    }
    return ir::block(std::move(out));
  }
  const auto loop = [&](const Expr& end, bool clipped) {
    const std::string v = names_.fresh(f.stem);
    return ir::loop(v, ir::int_const(0), end,
                    enter_level(here, s.level, ir::var(v), clipped, [&](Point p) { return emit(step + 1, p); }));
  };
  const auto unrolled = [&](bool clipped) {
    if (s.piece != 1) return loop(ir::int_const(f.constant_size), clipped);
    Stmts copies;
    for (std::int64_t c = 0; c < f.constant_size; ++c)
      copies.push_back(
          enter_level(here, s.level, ir::int_const(c), clipped, [&](Point p) { return emit(step + 1, p); }));
    return ir::block(std::move(copies));
  };
  if (Expr bound = limit(here, s.level)) {
    bound = named(out, f.stem + "_end", bound);
    const Expr size = ir::int_const(f.constant_size);
    const Stmt whole = unrolled(true), part = loop(bound, true);
    out.push_back(ir::branch(ir::ge(bound, size), whole, part));
  } else {
    out.push_back(unrolled(false));
  }
  return ir::block(std::move(out));
}

}  // namespace strata::compiler
