// A level type of a user: its texts, evaluated number by number, and its own `build`, which is not believed.
#include <algorithm>

#include "backend/steps.h"
#include "format/level_numbers.h"
#include "format/registered_levels.h"
#include "levels/kinds.h"
#include "levels/level_storage.h"

namespace strata::storage {
namespace {

using levels::LevelWord;

/// Reads coordinates of one level, one parent after the other.
class CoordinateReader {
 public:
  explicit CoordinateReader(const LevelView& v)
      : v_(v),
        type_(levels::registered(v.level.kind)),
        numbers_(v.level, v.range, CheckedCrd{&v}),
        width_(type_.has_pos ? 0 : v.width()) {}

  std::int64_t first(std::int64_t parent) const { return type_.has_pos ? v_.pos[parent] : parent * width_; }
  std::int64_t last(std::int64_t parent) const { return type_.has_pos ? v_.pos[parent + 1] : (parent + 1) * width_; }

  void open(std::int64_t parent) {
    numbers_[LevelWord::parent] = parent;
    numbers_[LevelWord::first] = first(parent);
    numbers_[LevelWord::previous] = v_.range.lo - 1;
  }
  /// Of the children in their order; `before` is that of the child before.
  std::int64_t coordinate(std::int64_t position) {
    numbers_[LevelWord::p] = position;
    return numbers_[LevelWord::previous] = type_.coordinate.evaluate<std::int64_t>(numbers_);
  }
  void set_previous(std::int64_t c) { numbers_[LevelWord::previous] = c; }

 private:
  struct CheckedCrd {
    const LevelView* v;
    std::int64_t operator()(std::int64_t i) const {
      if (i < 0 || i >= v->crd.size)
        fail(*v, "`coordinate` reads beyond crd", "crd[0] to crd[" + std::to_string(v->crd.size - 1) + "]",
             "crd[" + std::to_string(i) + "]");
      return v->crd[i];
    }
  };

  const LevelView& v_;
  const levels::RegisteredLevel& type_;
  levels::LevelNumbers<CheckedCrd> numbers_;
  std::int64_t width_;
};

std::int64_t positions(const LevelView& v, std::int64_t parents) {
  return levels::registered(v.level.kind).has_pos ? v.pos[parents] : checked_positions(v, parents);
}

std::int64_t check(const CheckInput& in) {
  const LevelView& v = in.view();
  const levels::RegisteredLevel& type = levels::registered(v.level.kind);
  const std::int64_t parents = in.parents(),
                     total = type.has_pos ? check_pos(v, parents, INT64_MAX) : checked_positions(v, parents);
  if (type.has_crd) {
    const std::int64_t entries = crd_entries(v, parents, total);
    if (v.crd.size < entries)
      fail(v, "crd is too short", std::to_string(entries) + " entries", std::to_string(v.crd.size));
  }
  CoordinateReader reader(v);
  const std::int64_t high = v.range.lo + v.range.size;
  for (std::int64_t parent = 0; parent < parents; ++parent) {
    poll_at(parent + 1);
    reader.open(parent);
    std::int64_t before = v.range.lo - 1;
    for (std::int64_t p = reader.first(parent); p < reader.last(parent); ++p) {
      poll_at(p + 1);
      const std::int64_t c = reader.coordinate(p);
      const auto which = [&] {
        return "coordinate " + std::to_string(c) + " at position " + std::to_string(p) + " below parent position " +
               std::to_string(parent);
      };
      if (outside(v.range, c))
        fail(v, "coordinate out of range", "in [" + std::to_string(v.range.lo) + ", " + std::to_string(high) + ")",
             which());
      if (c <= before && p > reader.first(parent))
        fail(v, "coordinates do not ascend", "more than " + std::to_string(before), which());
      before = c;
    }
  }
  return total;
}

void walk(const LevelView& v, const std::int64_t* parents, int n, Children& out) {
  CoordinateReader reader(v);
  for (int k = 0; k < n; ++k) {
    reader.open(parents[k]);
    const std::int64_t end = reader.last(parents[k]);
    for (std::int64_t p = reader.first(parents[k]); p < end; ++p) {
      poll_at(p + 1);
      out.room();
      const auto o = static_cast<std::size_t>(out.n++);
      out.parent[o] = k;
      out.coordinate[o] = reader.coordinate(p);
      out.position[o] = p;
    }
  }
}

void find(const LevelView& v, std::int64_t parent, std::int64_t coordinate,
          const std::function<void(std::int64_t)>& visit) {
  CoordinateReader reader(v);
  reader.open(parent);
  for (std::int64_t p = reader.first(parent); p < reader.last(parent); ++p) {
    const std::int64_t c = reader.coordinate(p);
    if (c == coordinate) visit(p);
    if (c >= coordinate) return;
  }
}

[[noreturn]] void refuse_build(const Level& level, int index, const std::string& what, const std::string& expected,
                               const std::string& got) {
  fail(level, index, "its `build` is wrong: " + what, expected, got);
}

/// What `build` gives is read back: every element stands where it says, and every other slot is one that may be.
void check_built(const BuildInput& in, const LevelElements& given, const LevelBuilt& built, const Built& made,
                 const levels::RegisteredLevel& type) {
  const auto lengths = [&](const char* what, std::size_t got, std::int64_t wanted) {
    if (static_cast<std::int64_t>(got) != wanted)
      refuse_build(in.level, in.index, std::string("the length of ") + what, std::to_string(wanted),
                   std::to_string(got));
  };
  lengths("position", built.position.size(), std::ssize(given.coordinate));
  const LevelView v{.level = in.level,
                    .range = in.range,
                    .index = in.index,
                    .bits = 0,
                    .pos = IndexView(made.pos),
                    .crd = IndexView(made.crd)};
  lengths("pos", built.pos.size(), type.has_pos ? in.parents + 1 : 0);
  const std::array views{v};
  const std::array counts{in.parents};
  std::int64_t total = 0;
  try {
    total = check({views, counts, 0});
  } catch (const TensorError& e) {
    refuse_build(in.level, in.index, e.problem().what, e.problem().expected, e.problem().got);
  }
  lengths("crd", built.crd.size(), type.has_crd ? crd_entries(v, in.parents, total) : 0);
  CoordinateReader reader(v);
  std::size_t e = 0;
  for (std::int64_t parent = 0; parent < in.parents; ++parent) {
    reader.open(parent);
    for (std::int64_t p = reader.first(parent); p < reader.last(parent); ++p) {
      poll_at(p + 1);
      const std::int64_t c = reader.coordinate(p);
      const bool is_element = e < built.position.size() && given.parent[e] == parent && given.coordinate[e] == c;
      if (is_element && built.position[e] != p)
        refuse_build(in.level, in.index, "position[" + std::to_string(e) + "]", std::to_string(p),
                     std::to_string(built.position[e]));
      if (!is_element && !type.type.fills)
        refuse_build(in.level, in.index, "a slot that no element asked for, in a level type without `fills`",
                     "only the coordinates that were given",
                     "coordinate " + std::to_string(c) + " below parent position " + std::to_string(parent));
      e += is_element;
    }
  }
  if (e < built.position.size())
    refuse_build(in.level, in.index, "an element has no slot",
                 "coordinate " + std::to_string(given.coordinate[e]) + " below parent position " +
                     std::to_string(given.parent[e]),
                 "none");
}

Built build_by(const std::function<LevelBuilt(const LevelElements&)>& function, const BuildInput& in) {
  const levels::RegisteredLevel& type = levels::registered(in.level.kind);
  // Elements of one coordinate (of a nonunique level above) share a slot.
  std::vector<std::int64_t> parent, coordinate;
  for (std::int64_t e = 0; e < in.n; ++e) {
    poll_at(e + 1);
    if (!in.starts(e)) continue;
    parent.push_back(in.position[e]);
    coordinate.push_back(in.coordinate[e]);
  }
  const LevelElements given{.parents = in.parents,
                            .parent = parent,
                            .coordinate = coordinate,
                            .lo = in.range.lo,
                            .size = in.range.size,
                            .number = in.level.arg};
  const LevelBuilt built = function(given);
  Built out;
  out.pos = Buffer::allocate(DType::i64, std::ssize(built.pos));
  std::ranges::copy(built.pos, static_cast<std::int64_t*>(out.pos.data));
  const std::int64_t high = index_max(in.crd_dtype), low = is_signed_int(in.crd_dtype) ? -high - 1 : 0;
  for (const std::int64_t c : built.crd)
    if (c < low || c > high)
      fail(in.level, in.index, "an entry of crd does not fit in " + std::string(name_of(in.crd_dtype)),
           std::to_string(low) + " to " + std::to_string(high), std::to_string(c), "ask for a wider crd dtype");
  out.crd = Buffer::allocate(in.crd_dtype, std::ssize(built.crd));
  for (std::int64_t k = 0; k < out.crd.size; ++k) out.crd.set_index(k, built.crd[static_cast<std::size_t>(k)]);
  check_built(in, given, built, out, type);
  std::size_t next = 0;
  for (std::int64_t e = 0; e < in.n; ++e) {
    next += in.starts(e);
    in.position[e] = built.position[next - 1];
  }
  out.positions = type.has_pos ? built.pos.back() : in.parents * levels::slots_of(in.level, in.range);
  return out;
}

Built build(const BuildInput& in) {
  const auto function = levels::registered(in.level.kind).build();
  if (!function)
    fail(in.level, in.index, "nothing makes this level", "a level type with `build`", "one without",
         "give register_level a build, import a tensor that has its arrays, or ask for another format=");
  return build_by(function, in);
}

}  // namespace

const LevelStorage registered_storage = {check, positions, walk, find, build};

std::int64_t crd_entries(const LevelView& v, std::int64_t parents, std::int64_t positions) {
  if (v.level.kind == LevelKind::bitmap) return parents * bitmap_words(v.range.size);
  if (!levels::is_registered(v.level.kind)) return positions;
  levels::LevelNumbers numbers(v.level, v.range);
  numbers[LevelWord::parents] = parents;
  numbers[LevelWord::positions] = positions;
  const auto entries = levels::registered(v.level.kind).crd_entries.evaluate<std::int64_t>(numbers);
  if (entries < 0) fail(v, "`crd_entries` is negative", "0 or more entries", std::to_string(entries));
  return entries;
}

std::int64_t registered_coordinate(const LevelView& v, std::int64_t parent, std::int64_t position,
                                   std::int64_t before) {
  CoordinateReader reader(v);
  reader.open(parent);
  reader.set_previous(before);
  return reader.coordinate(position);
}

/// Does `build` serve elements that a format may have? Rows that are empty, full, and in between.
void try_samples(LevelKind kind, bool takes_number, const std::function<LevelBuilt(const LevelElements&)>& function) {
  for (const std::int64_t lo : {0, -3})
    for (int sample = 0; sample < 4; ++sample) {
      std::vector<std::int64_t> position, coordinate;
      std::vector<std::uint8_t> differs;
      const std::int64_t parents = sample == 0 ? 0 : 3, size = 7;
      for (std::int64_t parent = 0; parent < parents; ++parent)
        for (std::int64_t c = 0; c < size; ++c) {
          const bool here = sample == 2 ? (5 * parent + 3 * c) % 4 == 0 && parent != 1 : sample == 3 && c == 2 * parent;
          if (!here) continue;
          position.push_back(parent);
          coordinate.push_back(lo + c);
          differs.push_back(0);
        }
      static_cast<void>(build_by(function, {.level = {.kind = kind, .arg = takes_number ? size : 0},
                                            .range = {lo, size},
                                            .index = 0,
                                            .chain_end = 0,
                                            .parents = parents,
                                            .n = std::ssize(position),
                                            .position = position.data(),
                                            .coordinate = coordinate.data(),
                                            .differs = differs.data(),
                                            .crd_dtype = DType::i64}));
    }
}

}  // namespace strata::storage

namespace strata {

void register_level(LevelType type) {
  const auto function = type.build;
  const LevelKind kind = levels::add_registered(std::move(type));
  try {
    if (function) storage::try_samples(kind, levels::registered(kind).takes_number, function);
  } catch (const TensorError& e) {
    levels::drop_registered(kind);
    Problem p = e.problem();
    p.what = "a level type was not registered: " + p.what;
    throw FormatError(std::move(p));
  } catch (...) {  // the function's own
    levels::drop_registered(kind);
    throw;
  }
  levels::show_registered(kind);
}

}  // namespace strata

namespace strata::levels {
namespace {

/// The arithmetic of a level type in loop IR.
struct Code {
  const CursorInputs& in;
  ir::Expr parent = nullptr, first = nullptr, p = nullptr, previous = nullptr;

  ir::Expr number(std::int64_t n) const { return ir::int_const(n); }
  ir::Expr word(LevelWord w) const {
    switch (w) {
      case LevelWord::parent: return parent;
      case LevelWord::first: return first;
      case LevelWord::p: return p;
      case LevelWord::previous: return previous;
      case LevelWord::lo: return in.lo;
      case LevelWord::size: return in.size;
      default: return ir::int_const(in.level.arg);
    }
  }
  ir::Expr crd(const ir::Expr& i) const { return in.crd(i); }
  std::int64_t divisor_n() const { return in.level.arg; }
  ir::Expr divide(LevelText::Operation op, const ir::Expr& a, std::int64_t b) const {
    return op == LevelText::Operation::div ? ir::floor_div(a, b) : ir::floor_mod(a, b);
  }
  ir::Expr apply(LevelText::Operation op, const ir::Expr& a, const ir::Expr& b) const {
    switch (op) {
      case LevelText::Operation::add: return a + b;
      case LevelText::Operation::sub: return a - b;
      case LevelText::Operation::mul: return a * b;
      case LevelText::Operation::min: return ir::min(a, b);
      default: return ir::max(a, b);
    }
  }
};

ir::Expr first_of(const CursorInputs& in, const ir::Expr& parent) {
  return registered(in.level.kind).has_pos ? in.pos(parent) : parent * slots_in_code(in);
}

/// `previous`: the coordinate of the position before.
ir::Expr coordinate(const CursorInputs& in, const ir::Expr& parent, const ir::Expr& position,
                    const ir::Expr& previous) {
  const LevelText& text = registered(in.level.kind).coordinate;
  const ir::Expr first = text.uses(LevelWord::first) ? first_of(in, parent) : nullptr;
  return text.evaluate<ir::Expr>(Code{in, parent, first, position, previous});
}

}  // namespace

ir::Expr slots_in_code(const CursorInputs& in) { return registered(in.level.kind).slots.evaluate<ir::Expr>(Code{in}); }

Steps steps_of_registered(const CursorInputs& in, const ir::Expr& parent, const ir::Expr& position) {
  const std::string c = in.fresh(in.stem);
  return {.before = nullptr,
          .state = {{c, in.lo - 1}},
          .step = ir::assign(c, coordinate(in, parent, position, ir::var(c))),
          .coordinate = ir::var(c)};
}

}  // namespace strata::levels
