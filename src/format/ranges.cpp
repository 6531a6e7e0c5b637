// Coordinates of levels and dimensions: the maps between them and the intervals they range over.
#include <limits>

#include "base/checked.h"
#include "format/print.h"
#include "strata/format.h"

namespace strata {
namespace {

[[noreturn]] void too_large(const Format& f, int l) {
  std::vector<std::string_view> dims;
  for (int d = 0; d < f.rank(); ++d) dims.push_back(f.dim_name(d));
  throw FormatError({.what = "the coordinates of level '" +
                             print_expr(f.spec(), f.spec().exprs[static_cast<std::size_t>(f.level(l).expr)], dims) +
                             "' exceed 64 bits",
                     .expected = "extents whose sizes, sums and blocks fit int64"});
}

/// An interval [lo, hi] in 128 bits; empty where hi < lo.
struct Interval {
  __extension__ typedef __int128 Int;
  Int lo = 0, hi = -1;
  bool empty() const { return hi < lo; }
};
bool fits(Interval::Int x) {
  return x >= std::numeric_limits<std::int64_t>::min() && x <= std::numeric_limits<std::int64_t>::max();
}

Interval::Int floor_div128(Interval::Int a, std::int64_t b) { return a / b - (a % b < 0 ? 1 : 0); }

struct Ranges {
  const Format& f;
  std::span<const std::int64_t> shape;
  int level;

  Interval checked(Interval x) const {
    if (!fits(x.lo) || !fits(x.hi) || !fits(x.hi - x.lo + 1)) too_large(f, level);
    return x;
  }

  /// What expression e ranges over. An empty one keeps a lower end that makes sense, so that sizes are 0 and no more is
  /// said.
  Interval of(int e) const {
    const ExprNode& n = f.spec().exprs[static_cast<std::size_t>(e)];
    switch (n.op) {
      case ExprNode::dim: return {0, Interval::Int{shape[static_cast<std::size_t>(n.a)]} - 1};
      case ExprNode::div: {
        const Interval a = of(n.a);
        if (a.empty()) return {floor_div128(a.lo, n.n), floor_div128(a.lo, n.n) - 1};
        const Interval q{floor_div128(a.lo, n.n), floor_div128(a.hi, n.n)};
        checked({q.lo * n.n,
                 q.hi * n.n + n.n - 1});  // the last block as a whole: what its outside slots compute must not wrap
        return checked(q);
      }
      case ExprNode::mod: return {0, Interval::Int{n.n} - 1};
      default: {
        const Interval a = of(n.a), b = of(n.b);
        const bool plus = n.op == ExprNode::add;
        if (a.empty() || b.empty()) {
          const Interval::Int last = b.empty() ? b.lo : b.hi;
          const Interval::Int lo = plus ? a.lo + b.lo : a.lo - last;
          return {lo, lo - 1};
        }
        return checked(plus ? Interval{a.lo + b.lo, a.hi + b.hi} : Interval{a.lo - b.hi, a.hi - b.lo});
      }
    }
  }
};

/// A level coordinate, or what follows from some, as the interval it may lie in.
struct CoordinateInterval {
  Interval::Int lo = 0, hi = 0;
  bool bad = false;
  static CoordinateInterval make(Interval::Int lo, Interval::Int hi, bool bad) {
    return {lo, hi, bad || !fits(lo) || !fits(hi)};
  }
  friend CoordinateInterval operator+(CoordinateInterval a, CoordinateInterval b) {
    return a.bad || b.bad ? CoordinateInterval{0, 0, true} : make(a.lo + b.lo, a.hi + b.hi, false);
  }
  friend CoordinateInterval operator-(CoordinateInterval a, CoordinateInterval b) {
    return a.bad || b.bad ? CoordinateInterval{0, 0, true} : make(a.lo - b.hi, a.hi - b.lo, false);
  }
  friend CoordinateInterval operator*(CoordinateInterval a, std::int64_t n) {
    return a.bad ? a : make(a.lo * n, a.hi * n, false);
  }
};

void check_shape(const Format& f, std::span<const std::int64_t> shape) {
  if (static_cast<int>(shape.size()) != f.rank())
    throw FormatError({.what = "the shape has another rank than the format",
                       .expected = std::to_string(f.rank()) + " extents",
                       .got = std::to_string(shape.size())});
  for (const auto n : shape)
    if (n < 0)
      throw FormatError({.what = "an extent is negative", .expected = "extents from 0 on", .got = std::to_string(n)});
}

LevelRange range_of(const Format& f, int l, std::span<const std::int64_t> shape) {
  const Interval i = Ranges{f, shape, l}.of(f.level(l).expr);
  if (!fits(i.lo) || !fits(i.hi - i.lo + 1)) too_large(f, l);
  return {static_cast<std::int64_t>(i.lo), static_cast<std::int64_t>(i.hi - i.lo + 1)};
}

}  // namespace

LevelRange Format::level_range(int l, std::span<const std::int64_t> shape) const {
  check_shape(*this, shape);
  if (l < 0 || l >= num_levels())
    throw FormatError({.what = "the format has no such level",
                       .expected = "from 0 to " + std::to_string(num_levels() - 1),
                       .got = std::to_string(l)});
  return range_of(*this, l, shape);
}

std::vector<LevelRange> Format::level_ranges(std::span<const std::int64_t> shape) const {
  check_shape(*this, shape);
  std::vector<LevelRange> out;
  bool empty = false;
  for (int l = 0; l < num_levels(); ++l) {
    out.push_back(range_of(*this, l, shape));
    empty = empty || out.back().size == 0;
  }
  // Slots outside of the tensor lie anywhere in the level ranges: no dimension coordinate that follows from them may
  // wrap.
  for (int d = 0; !empty && d < rank(); ++d) {
    const CoordinateInterval b = eval_dim<CoordinateInterval>(d, [&](int l) {
      const LevelRange& r = out[static_cast<std::size_t>(l)];
      return CoordinateInterval{r.lo, Interval::Int{r.lo} + r.size - 1, false};
    });
    if (b.bad) too_large(*this, completing_level(d));
  }
  return out;
}

namespace {
void check_room(const Format& f, std::size_t dims, std::size_t lvls) {
  if (dims >= static_cast<std::size_t>(f.rank()) && lvls >= static_cast<std::size_t>(f.num_levels())) return;
  throw FormatError(
      {.what = "too few coordinates",
       .expected = std::to_string(f.rank()) + " dimensions and " + std::to_string(f.num_levels()) + " levels",
       .got = std::to_string(dims) + " and " + std::to_string(lvls)});
}

// Coordinates that are no coordinates of any tensor may wrap; they never trap.
struct WrappingCoordinate {
  std::uint64_t x;
  WrappingCoordinate operator+(WrappingCoordinate o) const { return {x + o.x}; }
  WrappingCoordinate operator-(WrappingCoordinate o) const { return {x - o.x}; }
  WrappingCoordinate operator*(std::int64_t n) const { return {x * static_cast<std::uint64_t>(n)}; }
};
}  // namespace

void Format::dim2lvl(std::span<const std::int64_t> dims, std::span<std::int64_t> lvls) const {
  check_room(*this, dims.size(), lvls.size());
  for (int l = 0; l < num_levels(); ++l)
    lvls[static_cast<std::size_t>(l)] = static_cast<std::int64_t>(
        eval_level<WrappingCoordinate>(
            l, [&](int d) { return WrappingCoordinate{static_cast<std::uint64_t>(dims[static_cast<std::size_t>(d)])}; },
            [](WrappingCoordinate a, std::int64_t n) {
              return WrappingCoordinate{static_cast<std::uint64_t>(floor_div(static_cast<std::int64_t>(a.x), n))};
            },
            [](WrappingCoordinate a, std::int64_t n) {
              return WrappingCoordinate{static_cast<std::uint64_t>(floor_mod(static_cast<std::int64_t>(a.x), n))};
            })
            .x);
}

void Format::lvl2dim(std::span<const std::int64_t> lvls, std::span<std::int64_t> dims) const {
  check_room(*this, dims.size(), lvls.size());
  for (int d = 0; d < rank(); ++d)
    dims[static_cast<std::size_t>(d)] = static_cast<std::int64_t>(
        eval_dim<WrappingCoordinate>(d, [&](int l) {
          return WrappingCoordinate{static_cast<std::uint64_t>(lvls[static_cast<std::size_t>(l)])};
        }).x);
}

int Format::completing_level(int d) const {
  struct Last {
    int l;
    Last operator+(Last o) const { return {l > o.l ? l : o.l}; }
    Last operator-(Last o) const { return *this + o; }
    Last operator*(std::int64_t) const { return *this; }
  };
  if (rank() == 0) return -1;
  return eval_dim<Last>(d, [](int l) { return Last{l}; }).l;
}

std::int64_t Format::constant_size(int l) const {
  // [0, size) where the expression ends in a remainder and quotients of it; 0 where it depends on an extent.
  int e = level(l).expr;
  std::int64_t divisor = 1;
  for (;;) {
    const ExprNode& n = spec_->exprs[static_cast<std::size_t>(e)];
    if (n.op == ExprNode::mod) return (n.n - 1) / divisor + 1;
    if (n.op != ExprNode::div) return 0;
    const auto product = checked_mul(divisor, n.n);
    if (!product) return 0;
    divisor = *product;
    e = n.a;
  }
}

}  // namespace strata
