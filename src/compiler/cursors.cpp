// How an operand's level is walked beside those of others: where its children begin and end, which coordinate each has,
// and how to go on. Positions are counted. Their coordinates stand in an array that can be searched (compressed,
// singleton, padded, structured), or follow from those before (delta, bitmap).
#include <algorithm>

#include "compiler/cursors.h"
#include "format/registered_levels.h"
#include "levels/index_view.h"

namespace strata::merging {

namespace {

constexpr std::int64_t long_stride = 16;  ///< elements of a long fiber of which one is looked at
constexpr std::int64_t run_stride = 16;   ///< ... of a run of equal coordinates,
constexpr std::int64_t short_stride = 4;  ///< ... which are shorter than this

/// 1 where it holds.
Expr one_if(const Expr& condition) { return condition ? ir::cast(DType::i64, condition) : ir::int_const(1); }

}  // namespace

Level level_in_loops(const Format& f, int l) {
  Level level = f.level(l);
  level.expr = -1;
  if (level.kind == LevelKind::batch) level.kind = LevelKind::dense;
  const bool counts = level.kind == LevelKind::delta || level.kind == LevelKind::structured;
  if (!counts && !levels::is_registered(level.kind)) level.arg = 0;
  // Elements in a list share all coordinates but the last: of COO(3), i may repeat, and j too.
  int head = l;
  while (head > 0 && f.level(head).kind == LevelKind::singleton) --head;
  const bool goes_on = l + 1 < f.num_levels() && f.level(l + 1).kind == LevelKind::singleton;
  level.unique = f.level(head).unique || !goes_on;
  return level;
}

Storage::Storage(const TensorType& t)
    : dtype(t.dtype),
      pos_dtype(t.pos_dtype),
      crd_dtype(t.crd_dtype),
      shared_value(t.shared_value),
      batch_levels(t.format.num_batch_levels()) {
  const auto ranges = t.format.level_ranges(t.shape);
  for (int l = 0; l < t.format.num_levels(); ++l) {
    levels.push_back(level_in_loops(t.format, l));
    packed_bits.push_back(strata::packed_bits(levels.back(), ranges[static_cast<std::size_t>(l)].size));
  }
}

Expr Cursors::pos(int k, int l, const Expr& position) {
  const int b =
      buffer(BufferBinding::pos, k, l, name_of_operand(k) + "_pos" + std::to_string(l), operand(k).type.pos_dtype);
  return ir::cast(DType::i64, ir::load(params_.param(b), b, in_batch(ScalarBinding::pos_stride, k, l, position)));
}

Expr Cursors::in_batch(ScalarBinding::Kind stride, int k, int l, const Expr& position) {
  const auto batch = batch_.find(k);
  if (batch == batch_.end()) return position;
  const char* what = stride == ScalarBinding::pos_stride   ? "_pos_stride"
                     : stride == ScalarBinding::crd_stride ? "_crd_stride"
                                                           : "_batch_stride";
  const std::string of_level = stride == ScalarBinding::batch_stride ? "" : std::to_string(l);
  return position + batch->second * scalar(stride, k, l, name_of_operand(k) + what + of_level);
}

Expr Cursors::first_of(int var) {
  if (var == 0) return first_;
  return is_cut(var) ? scalar(ScalarBinding::walk_begin, -1, var, letter(var) + "_begin") : ir::int_const(0);
}

Expr Cursors::last_of(int var) {
  if (var == 0) return last_;
  return is_cut(var) ? scalar(ScalarBinding::walk_end, -1, var, letter(var) + "_end") : extent(var);
}

Expr Cursors::slot(int k, const Place& at) {
  const auto& vars = operand(k).vars;
  const std::size_t tail = vars.size() - static_cast<std::size_t>(operand(k).tail);
  Expr position = at.position[static_cast<std::size_t>(k)], within;
  for (std::size_t l = tail; l < vars.size(); ++l) {
    const std::int64_t size = constant_extent(vars[l]);
    const Expr& coordinate = at.coordinate[static_cast<std::size_t>(vars[l])];
    position = position * size;
    within = within ? within * size + coordinate : coordinate;
  }
  return in_batch(ScalarBinding::batch_stride, k, 0, within ? position + within : position);
}

bool Cursors::is_walked_last(int var) const {
  int last = -1;
  for (const Operand& o : in_.operands)
    if (!o.dense && !o.each_slot && o.vars.size() > static_cast<std::size_t>(o.tail))
      last = std::max(last, o.vars[o.vars.size() - static_cast<std::size_t>(o.tail) - 1]);
  return var == last;
}

levels::CursorInputs Cursors::cursor_inputs(int var, int k, const Place& at) {
  const auto o = static_cast<std::size_t>(k);
  const int l = at.level[o];
  levels::CursorInputs in;
  in.level = level(k, l);
  in.lo = ir::int_const(0);
  // Only what the kind reads becomes a parameter.
  const bool own = levels::is_registered(in.level.kind);
  const bool sized = in.level.kind == LevelKind::bitmap || (own && levels::registered(in.level.kind).reads_size);
  in.size = sized ? extent(var) : ir::int_const(0);
  in.pos = [this, k, l, present = at.present[o]](const Expr& p) {
    const Expr e = pos(k, l, p);
    return present ? ir::select(present, e, ir::int_const(0)) : e;
  };
  in.crd = [this, k, l](const Expr& p) { return crd(k, l, p); };
  in.fresh = [this](const std::string& stem) { return names_.fresh(stem); };
  in.stem = letter(var) + name_of_operand(k);
  return in;
}

Expr Cursors::slots_of(const levels::CursorInputs& in, int k, int l) {
  if (in.level.kind == LevelKind::structured) return ir::int_const(in.level.arg);
  if (in.level.kind == LevelKind::padded)
    return scalar(ScalarBinding::level_slots, k, l, name_of_operand(k) + "_slots");
  const bool own = levels::is_registered(in.level.kind) && !levels::registered(in.level.kind).has_pos;
  return own ? levels::slots_in_code(in) : nullptr;
}

Cursors::Fiber Cursors::open(int var, int k, const Place& at, Stmts& out) {
  const auto o = static_cast<std::size_t>(k);
  Fiber c{.operand = k,
          .level = at.level[o],
          .p = {},
          .begin = {},
          .end = {},
          .has = {},
          .next = {},
          .has_unused = false,
          .steps = {},
          .origin = {},
          .few = 0};
  const levels::CursorInputs in = cursor_inputs(var, k, at);
  const std::string stem = in.stem;
  const auto named = [&](const char* what, const Expr& e) {
    const std::string name = names_.fresh(stem + what);
    out.push_back(ir::let(name, e));
    return ir::var(name);
  };
  const Expr& parent = at.position[o];
  if (in.level.kind == LevelKind::singleton) {
    // A child for each position of the parent that has the coordinate above: none where it has not.
    c.begin = parent;
    c.end = named("_end", at.next[o] ? at.next[o] : parent + one_if(at.present[o]));
  } else if (const Expr slots = slots_of(in, k, c.level); slots) {
    c.begin = named("_begin", parent * slots);
    c.end = named("_end", c.begin + (at.present[o] ? ir::select(at.present[o], slots, ir::int_const(0)) : slots));
    c.has_unused = in.level.kind == LevelKind::padded;
    constexpr std::int64_t few = 4;
    if (in.level.kind == LevelKind::structured && in.level.arg <= few && !at.present[o] && !is_cut(var))
      c.few = in.level.arg;
  } else {
    c.begin = named("_begin", in.pos(parent));
    c.end = named("_end", in.pos(parent + 1));
  }
  if (is_cut(var)) cut(var, c, at, out);
  if (c.level == 0) end_of_top_[k] = c.end;
  c.p = names_.fresh("p" + stem);
  if (!in.level.unique) c.next = names_.fresh("next_" + stem);
  c.steps = levels::steps(in, parent, ir::var(c.p));
  if (c.steps && c.steps->before) out.push_back(c.steps->before);
  return c;
}

void Cursors::cut(int var, Fiber& c, const Place& at, Stmts& out) {
  const Expr first = first_of(var), last = last_of(var);
  if (!levels::has_steps(kind(c.operand, c.level))) {
    leave_out_unused(var, c, out);
    const Expr from = lower_bound(c, c.begin, c.end, first, out);
    const Expr to = lower_bound(c, from, c.end, last, out);
    c.begin = from;
    c.end = to;
    return;
  }
  Fiber walk = c;
  walk.p = names_.fresh("p" + letter(var) + name_of_operand(c.operand));
  walk.steps = levels::steps(cursor_inputs(var, c.operand, at), at.position[static_cast<std::size_t>(c.operand)],
                             ir::var(walk.p));
  // Coordinates that stand in no array are counted from the first one on.
  if (walk.steps->before) out.push_back(walk.steps->before);
  start(walk, out);
  const auto walk_to = [&](const Expr& coordinate) {
    const Expr on = ir::logical_and(ir::lt(ir::var(walk.p), c.end), ir::lt(here(walk), coordinate));
    out.push_back(ir::while_loop(on, advance(walk)));
    const std::string name = names_.fresh(walk.p + "_cut");
    out.push_back(ir::let(name, ir::var(walk.p)));
    return ir::var(name);
  };
  c.origin = c.begin;
  c.begin = walk_to(first);
  c.end = walk_to(last);
}

Expr Cursors::crd(int k, int l, const Expr& position) {
  const bool bitmap = kind(k, l) == LevelKind::bitmap;
  const int bits = operand(k).type.packed_bits[static_cast<std::size_t>(l)];
  const DType t = bits > 0 ? DType::u8 : bitmap ? DType::u64 : operand(k).type.crd_dtype;
  const int b = buffer(BufferBinding::crd, k, l, name_of_operand(k) + "_crd" + std::to_string(l), t, false, bits);
  const Expr e = ir::load(params_.param(b), b, in_batch(ScalarBinding::crd_stride, k, l, position));
  return bitmap ? e : ir::cast(DType::i64, e);
}

Expr Cursors::lower_bound(const Fiber& c, const Expr& begin, const Expr& end, const Expr& value, Stmts& out) {
  const std::string low = names_.fresh("low"), high = names_.fresh("high"), middle = names_.fresh("middle");
  out.push_back(ir::declare(low, begin));
  out.push_back(ir::declare(high, end));
  const Expr lo = ir::var(low), hi = ir::var(high), mid = ir::var(middle);
  const Stmt half = ir::branch(ir::lt(crd(c, mid), value), ir::assign(low, mid + 1), ir::assign(high, mid));
  out.push_back(ir::while_loop(ir::lt(lo, hi), ir::block({ir::let(middle, lo + ir::floor_div(hi - lo, 2)), half})));
  return lo;
}

Expr Cursors::is_used(int var, const Fiber& c, const Expr& position) {
  // All ones: -1 where they are signed (or fill all 64 bits), beyond every extent where they are not.
  const DType t = operand(c.operand).type.crd_dtype;
  const Expr e = crd(c, position);
  return is_unsigned_int(t) && size_of(t) < 8 ? ir::lt(e, extent(var)) : ir::ge(e, ir::int_const(0));
}

void Cursors::leave_out_unused(int var, Fiber& c, Stmts& out) {
  if (!c.has_unused) return;
  c.has_unused = false;
  const std::string low = names_.fresh("low"), high = names_.fresh("high"), middle = names_.fresh("middle");
  const Expr lo = ir::var(low), hi = ir::var(high), mid = ir::var(middle);
  // Most rows are full: the last slot is asked first.
  const Expr full = ir::logical_and(ir::lt(c.begin, c.end), is_used(var, c, c.end - 1));
  out.push_back(ir::declare(high, c.end));
  out.push_back(ir::declare(low, ir::select(full, c.end, c.begin)));
  const Stmt half = ir::branch(is_used(var, c, mid), ir::assign(low, mid + 1), ir::assign(high, mid));
  out.push_back(ir::while_loop(ir::lt(lo, hi), ir::block({ir::let(middle, lo + ir::floor_div(hi - lo, 2)), half})));
  c.end = hi;
}

void Cursors::start(const Fiber& c, Stmts& out) {
  out.push_back(ir::declare(c.p, c.origin ? c.origin : c.begin));
  if (!c.steps) return;
  for (const auto& state : c.steps->state) out.push_back(ir::declare(state.name, state.initial));
  out.push_back(step(c));
  if (c.origin) out.push_back(ir::while_loop(ir::lt(ir::var(c.p), c.begin), advance(c)));
}

Stmt Cursors::step(const Fiber& c) { return ir::branch(ir::lt(ir::var(c.p), c.end), c.steps->step); }

Expr Cursors::here(const Fiber& c) { return c.steps ? c.steps->coordinate : crd(c, ir::var(c.p)); }

Expr Cursors::stands_at(const Fiber& c, const Expr& coordinate) {
  return ir::logical_and(ir::lt(ir::var(c.p), c.end), ir::eq(here(c), coordinate));
}

Stmt Cursors::advance(const Fiber& c) {
  const Expr p = ir::var(c.p);
  if (!c.next.empty()) return ir::assign(c.p, ir::var(c.next));
  if (!c.steps) return ir::assign(c.p, p + one_if(c.has));
  const Stmt on = ir::block({ir::assign(c.p, p + 1), step(c)});
  return c.has ? ir::branch(c.has, on) : on;
}

void Cursors::seek(const Fiber& c, const Expr& coordinate, const Fiber& driver, Stmts& out) {
  const Expr p = ir::var(c.p);
  const auto while_before = [&](const Expr& q, const Expr& at_q, const Stmt& on) {
    out.push_back(ir::while_loop(ir::logical_and(ir::lt(q, c.end), ir::lt(at_q, coordinate)), on));
  };
  if (c.steps) {
    while_before(p, here(c), ir::block({ir::assign(c.p, p + 1), step(c)}));
    return;
  }
  // Long fibers beside short ones are skipped in strides first.
  if (cost(c.operand) > search_factor * cost(driver.operand))
    while_before(p + long_stride, crd(c, p + long_stride), ir::assign(c.p, p + long_stride));
  while_before(p, crd(c, p), ir::assign(c.p, p + 1));
}

void Cursors::find_next(const Fiber& c, const Expr& coordinate, Stmts& out) {
  if (c.next.empty()) return;
  const Expr next = ir::var(c.next);
  out.push_back(ir::declare(c.next, c.has ? ir::var(c.p) : ir::var(c.p) + 1));
  const auto while_equal = [&](const Expr& q, std::int64_t step) {
    return ir::while_loop(ir::logical_and(ir::lt(q, c.end), ir::eq(crd(c, q), coordinate)),
                          ir::assign(c.next, next + step));
  };
  // Coordinates ascend: what lies between two that are the same is the same too. The last ones are counted, without a
  // jump for each, which would be guessed wrong in every run.
  const Operand& o = operand(c.operand);
  const bool is_short = c.level + 2 == static_cast<int>(o.type.levels.size()) && o.fibers.back() < short_stride;
  const std::int64_t stride = is_short ? short_stride : run_stride;
  out.push_back(while_equal(next + (stride - 1), stride));
  Expr behind = next;
  for (std::int64_t k = 0; k + 1 < stride; ++k) behind = behind + one_if(ir::eq(crd(c, next + k), coordinate));
  out.push_back(ir::branch(ir::lt(next + (stride - 2), c.end), ir::assign(c.next, behind), while_equal(next, 1)));
}

std::string Cursors::name_of_operand(int k) const {
  return k == in_.mask ? "mask" : k == in_.earlier ? "earlier" : "t" + std::to_string(k);
}

double Cursors::cost(int k) const {
  const auto& fibers = operand(k).fibers;
  double last = 1;
  for (double f : fibers) last = f;
  return last;
}

}  // namespace strata::merging
