#pragma once
// What makes a format valid, and its inverse. All constexpr and without exceptions: a fault is a value.
//
// Decisions about the meaning of levels
//  - `unique` and `ordered` may be written on every type, since they are always true of most; `nonunique` and `unordered` only on
//    compressed, singleton and padded. A dense, batch, range, bitmap or structured level cannot repeat or shuffle coordinates, and delta's
//    gaps only ascend.
//  - singleton may follow every type, but is not the first level (nor the first after the batches): there the tensor could hold one
//    element. Below a level that stores every coordinate (dense, range) it holds exactly one element each.
//  - `e / n` and `e % n` may come in either order: `(j % 4 : dense, j / 4 : dense)` is the cyclic distribution.
//  - A skew `a + b`, `a - b` may be of any type (dense: all diagonals are stored), and the level beside it may be of any type too; `range`
//    belongs to a plain dimension that is an operand of a skew whose levels all come earlier.
//  - structured(n) belongs to `e % m`, n <= m <= 2^32. delta has 1 to 32 bits. batch belongs to a plain dimension that no other level reads.
#include "strata/format.h"

namespace strata::detail {

inline constexpr int max_depth = 64;  ///< operators or parentheses inside each other

struct FormatSpan {
  std::size_t begin = 0, end = 0;
};

/// What is wrong with a format, as a literal: what, expected, fix; '%' in `what` stands for the text at `where`.
struct FormatFault {
  enum Hint : std::uint8_t { none, level_type, property, name, numbers, dimension, other_half, skew_side, missing_level };
  const char* what = nullptr;  ///< null: nothing is wrong
  const char* expected = "";
  const char* fix = "";
  FormatSpan where{};
  int level = -1, dim = -1;  ///< check_part: whose place it is (level counts over all parts)
  Hint hint = none;          ///< how the run-time parser looks for a better fix
  int node = -1;             ///< other_half, skew_side: the expression (FormatSpec::exprs)
};

inline constexpr std::array<std::string_view, level_kind_count> level_kind_words = {
    "dense", "batch", "compressed", "singleton", "range", "delta", "structured", "padded", "bitmap"};
/// Pairs; the odd ones deny what is true unless said.
inline constexpr std::array<std::string_view, 4> property_words = {"unique", "nonunique", "ordered", "unordered"};

constexpr char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; }
constexpr bool same_word(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i)
    if (lower(a[i]) != lower(b[i])) return false;
  return true;
}
template <std::size_t N> constexpr int find_word(const std::array<std::string_view, N>& words, std::string_view word) {
  for (std::size_t i = 0; i < N; ++i)
    if (same_word(words[i], word)) return static_cast<int>(i);
  return -1;
}
constexpr void put_name(std::array<char, max_name + 1>& to, std::string_view name) {
  for (std::size_t i = 0; i < to.size(); ++i) to[i] = i < name.size() && i < max_name ? name[i] : '\0';
}

// ---------------------------------------------------------------------------------------------------- arguments
/// What stood between the parentheses of a level's type.
struct LevelArguments {
  FormatSpan type{}, number_span{};
  bool has_number = false;
  std::int64_t number = 0;
  std::array<int, 2> property{-1, -1};  ///< uniqueness, order: 0 as the default, 1 denied, -1 not given
  std::array<FormatSpan, 2> property_spans{};
};

constexpr FormatFault check_arguments(Level& level, const LevelArguments& given) {
  const LevelKind kind = level.kind;
  const bool properties = kind == LevelKind::compressed || kind == LevelKind::singleton || kind == LevelKind::padded;
  for (std::size_t p = 0; p < 2; ++p)
    if (given.property[p] == 1 && !properties) {
      if (kind == LevelKind::delta)
        return {.what = "a delta level cannot be '%'", .expected = "gaps count upwards: it is always unique and ordered", .fix = "leave it out, or use compressed", .where = given.property_spans[p]};
      return {.what = "this type of level cannot be '%'", .expected = "compressed, singleton and padded levels take this property", .fix = "leave it out", .where = given.property_spans[p]};
    }
  level.unique = given.property[0] != 1;
  level.ordered = given.property[1] != 1;
  const FormatSpan where = given.has_number ? given.number_span : given.type;
  switch (kind) {
    case LevelKind::delta:
      if (!given.has_number || given.number < 1 || given.number > 32)
        return {.what = given.has_number ? "delta cannot have % bits" : "delta needs its number of bits", .expected = "from 1 to 32 bits", .fix = "write delta(8)", .where = where};
      break;
    case LevelKind::structured:
      if (!given.has_number || given.number < 1)
        return {.what = given.has_number ? "structured cannot store % of each group" : "structured needs the number that is stored of each group",
                .expected = "at least 1", .fix = "write structured(2)", .where = where};
      break;
    case LevelKind::padded:
      if (given.has_number && given.number < 1)
        return {.what = "padded cannot have % slots", .expected = "at least 1, or no number: the longest row decides", .fix = "write padded", .where = where};
      break;
    default:
      if (given.has_number)
        return {.what = "this type of level takes no number", .expected = "numbers belong to delta, structured and padded", .fix = "leave it out", .where = where};
  }
  level.arg = given.has_number ? given.number : 0;
  return {};
}

// ---------------------------------------------------------------------------------------------------- the tree
/// Reduces the levels of one part to its dimensions: {e / n, e % n} becomes e, and {a + b, a} becomes {a, b}. What is left must be the
/// dimensions, each once; on the way the inverse is written down.
struct InverseBuilder {
  FormatSpec& s;
  int part, first_expr;
  std::array<std::int16_t, max_nodes> canon{};  ///< the first expression of this part that equals this one
  std::array<int, max_nodes> weight{};          ///< nodes of an inverse written out as a tree
  /// An expression whose value is known from levels.
  struct Known {
    int expr = -1, inverse = -1, level = -1;
  };
  std::array<Known, max_levels> known{};
  int count = 0;
  bool overflow = false;

  constexpr const ExprNode& at(int e) const { return s.exprs[static_cast<std::size_t>(e)]; }
  constexpr int canonical(int e) const { return e < 0 ? -1 : canon[static_cast<std::size_t>(e)]; }

  constexpr void intern() {
    for (int e = first_expr; e < s.num_exprs; ++e) {
      int same = first_expr;
      const auto operand = [&](int x, bool is_dim) { return is_dim ? x : canonical(x); };
      for (; same < e; ++same) {
        const ExprNode &x = at(same), &y = at(e);
        const bool is_dim = x.op == ExprNode::dim;
        if (x.op == y.op && x.n == y.n && operand(x.a, is_dim) == operand(y.a, is_dim) && canonical(x.b) == canonical(y.b)) break;
      }
      canon[static_cast<std::size_t>(e)] = static_cast<std::int16_t>(same);
    }
  }

  /// Does expression e read the (canonical) expression x?
  constexpr bool reads(int e, int x) const {
    if (canonical(e) == x) return true;
    const ExprNode& n = at(e);
    if (n.op == ExprNode::dim) return false;
    return reads(n.a, x) || (n.b >= 0 && reads(n.b, x));
  }
  constexpr bool reads_dim(int e, int d) const {
    const ExprNode& n = at(e);
    if (n.op == ExprNode::dim) return n.a == d;
    return reads_dim(n.a, d) || (n.b >= 0 && reads_dim(n.b, d));
  }
  constexpr int find(int canonical_expr, int except = -1) const {
    for (int k = 0; k < count; ++k)
      if (k != except && known[static_cast<std::size_t>(k)].expr == canonical_expr) return k;
    return -1;
  }
  /// Is this expression an operand inside another known one? Then that one must be taken apart first.
  constexpr bool is_inside(int k) const {
    for (int o = 0; o < count; ++o)
      if (o != k && reads(known[static_cast<std::size_t>(o)].expr, known[static_cast<std::size_t>(k)].expr)) return true;
    return false;
  }

  constexpr int inverse(InverseNode n) {
    int w = 1;
    if (n.op != InverseNode::level) w += weight[static_cast<std::size_t>(n.a)] + weight[static_cast<std::size_t>(n.b)];
    if (s.num_inverses == max_nodes || w > max_nodes) {
      overflow = true;
      return 0;
    }
    weight[static_cast<std::size_t>(s.num_inverses)] = w;
    s.inverses[static_cast<std::size_t>(s.num_inverses)] = n;
    return s.num_inverses++;
  }
  constexpr int inverse(InverseNode::Op op, int a, int b, std::int64_t n = 0) {
    return inverse(InverseNode{op, static_cast<std::int16_t>(a), static_cast<std::int16_t>(b), n});
  }

  /// {e / n, e % n} -> e, if known[k] is the quotient.
  constexpr bool join(int k) {
    const Known q = known[static_cast<std::size_t>(k)];
    const ExprNode& e = at(q.expr);
    for (int r = 0; r < count; ++r) {
      const Known m = known[static_cast<std::size_t>(r)];
      const ExprNode& rest = at(m.expr);
      if (rest.op != ExprNode::mod || rest.n != e.n || canonical(rest.a) != canonical(e.a)) continue;
      if (is_inside(k) || is_inside(r)) return false;
      const Known whole{canonical(e.a), inverse(InverseNode::join, q.inverse, m.inverse, e.n), q.level > m.level ? q.level : m.level};
      known[static_cast<std::size_t>(k < r ? k : r)] = whole;
      for (int o = (k < r ? r : k) + 1; o < count; ++o) known[static_cast<std::size_t>(o - 1)] = known[static_cast<std::size_t>(o)];
      --count;
      return true;
    }
    return false;
  }

  /// {a + b, a} -> {a, b}, if known[k] is the skew.
  constexpr bool unskew(int k) {
    const Known skew = known[static_cast<std::size_t>(k)];
    const ExprNode& e = at(skew.expr);
    const int a = canonical(e.a), b = canonical(e.b);
    const int ka = find(a, k), kb = find(b, k);
    if ((ka < 0) == (kb < 0) || is_inside(k)) return false;
    const int side = known[static_cast<std::size_t>(ka >= 0 ? ka : kb)].inverse;
    const bool plus = e.op == ExprNode::add;
    int i = 0;
    if (ka >= 0)  // b = s - a of a + b; b = a - s of a - b
      i = plus ? inverse(InverseNode::difference, skew.inverse, side) : inverse(InverseNode::difference, side, skew.inverse);
    else  // a = s - b of a + b; a = s + b of a - b
      i = inverse(plus ? InverseNode::difference : InverseNode::sum, skew.inverse, side);
    known[static_cast<std::size_t>(k)] = {ka >= 0 ? b : a, i, skew.level};
    return true;
  }

  constexpr FormatFault build() {
    auto& p = s.parts[static_cast<std::size_t>(part)];
    intern();
    for (int e = first_expr; e < s.num_exprs; ++e)
      if ((at(e).op == ExprNode::add || at(e).op == ExprNode::sub) && canonical(at(e).a) == canonical(at(e).b))
        for (int l = p.first_level; l < p.first_level + p.num_levels; ++l)
          if (reads(s.levels[static_cast<std::size_t>(l)].expr, canonical(e)))
            return {.what = "'%' has the same on both sides", .expected = "a + b or a - b of two different expressions", .level = l};
    for (int l = p.first_level; l < p.first_level + p.num_levels; ++l) {
      const int e = canonical(s.levels[static_cast<std::size_t>(l)].expr);
      if (find(e) >= 0) return {.what = "two levels store '%'", .expected = "every expression once", .fix = "remove one of the two levels", .level = l};
      known[static_cast<std::size_t>(count)] = {e, inverse(InverseNode::level, l - p.first_level, -1), l};
      ++count;
    }
    for (int d = 0; d < s.num_dims; ++d) {
      bool read = false;
      for (int l = p.first_level; l < p.first_level + p.num_levels; ++l) read = read || reads_dim(s.levels[static_cast<std::size_t>(l)].expr, d);
      if (!read) return {.what = "no level stores dimension '%'", .expected = "every dimension in some level", .dim = d, .hint = FormatFault::missing_level};
    }
    for (bool changed = true; changed && !overflow;) {
      changed = false;
      for (int k = 0; k < count && !changed; ++k) {
        const auto op = at(known[static_cast<std::size_t>(k)].expr).op;
        changed = op == ExprNode::div ? join(k) : op == ExprNode::add || op == ExprNode::sub ? unskew(k) : false;
        if (changed)  // what was found out must not be known already
          for (int x = 0; x < count; ++x)
            if (const int y = find(known[static_cast<std::size_t>(x)].expr, x); y > x) {
              const int last = known[static_cast<std::size_t>(x)].level > known[static_cast<std::size_t>(y)].level ? x : y;
              return said_again(known[static_cast<std::size_t>(last)].level);
            }
      }
    }
    if (overflow) return {.what = "the expressions of the levels are too entangled", .expected = "an inverse of at most 512 operations"};
    for (int k = 0; k < count; ++k)
      if (const auto f = stuck(k); f.what) return f;
    for (int k = 0; k < count; ++k) {
      const Known& x = known[static_cast<std::size_t>(k)];
      p.inverse[static_cast<std::size_t>(at(x.expr).a)] = static_cast<std::int16_t>(x.inverse);
    }
    return {};
  }

  static constexpr FormatFault said_again(int level) {
    return {.what = "'%' repeats what other levels store", .expected = "levels that are the leaves of a tree of splits and skews", .fix = "remove this level", .level = level};
  }

  constexpr FormatFault stuck(int k) const {
    const Known& x = known[static_cast<std::size_t>(k)];
    const ExprNode& e = at(x.expr);
    if (e.op == ExprNode::dim) return {};
    bool all_known = true;
    for (int d = 0; d < s.num_dims; ++d) {
      bool found = !reads_dim(x.expr, d);
      for (int o = 0; o < count; ++o) {
        const ExprNode& other = at(known[static_cast<std::size_t>(o)].expr);
        found = found || (other.op == ExprNode::dim && other.a == d);
      }
      all_known = all_known && found;
    }
    if (all_known) return said_again(x.level);
    if (e.op == ExprNode::div || e.op == ExprNode::mod)
      return {.what = "'%' lacks its other half", .expected = "e / n and e % n of the same e and n", .level = x.level, .hint = FormatFault::other_half, .node = x.expr};
    return {.what = "nothing resolves '%'", .expected = "a level for one of its two sides", .level = x.level, .hint = FormatFault::skew_side, .node = x.expr};
  }
};

// ---------------------------------------------------------------------------------------------------- the order of levels
/// Is dimension d a side of a skew in earlier levels, all of them before level l?
constexpr bool has_earlier_skew(const FormatSpec& s, const FormatSpec::Part& p, const InverseBuilder& tree, int l, int d) {
  bool found = false;
  for (int e = tree.first_expr; e < s.num_exprs; ++e) {
    const ExprNode& n = tree.at(e);
    if (n.op != ExprNode::add && n.op != ExprNode::sub) continue;
    const auto is_side = [&](int x) { return tree.at(x).op == ExprNode::dim && tree.at(x).a == d; };
    if (!is_side(n.a) && !is_side(n.b)) continue;
    bool earlier = true;
    for (int o = l; o < p.first_level + p.num_levels; ++o) earlier = earlier && !tree.reads(s.levels[static_cast<std::size_t>(o)].expr, tree.canonical(e));
    found = found || earlier;
  }
  return found;
}

/// Checks one part whose expressions start at `first_expr`, and writes its inverse.
constexpr FormatFault check_part(FormatSpec& s, int part, int first_expr) {
  InverseBuilder tree{s, part, first_expr};
  if (const auto f = tree.build(); f.what) return f;
  const auto& p = s.parts[static_cast<std::size_t>(part)];
  bool leading = true;
  for (int l = p.first_level; l < p.first_level + p.num_levels; ++l) {
    const Level& level = s.levels[static_cast<std::size_t>(l)];
    const ExprNode& e = tree.at(level.expr);
    if (level.kind == LevelKind::batch) {
      if (!leading) return {.what = "the batch level '%' is not in front", .expected = "batch levels before all others", .level = l};
      if (e.op != ExprNode::dim) return {.what = "the batch level '%' is not a plain dimension", .expected = "a dimension", .fix = "use dense", .level = l};
      for (int o = p.first_level; o < p.first_level + p.num_levels; ++o)
        if (o != l && tree.reads_dim(s.levels[static_cast<std::size_t>(o)].expr, e.a))
          return {.what = "'%' reads the dimension of a batch level", .expected = "a batch is an outer loop: the levels inside know nothing of it", .fix = "use dense instead of batch", .level = o};
      continue;
    }
    if (level.kind == LevelKind::singleton && leading)
      return {.what = "the singleton level '%' has no parent", .expected = "another level in front: a singleton stores one coordinate for each of its positions", .fix = "use compressed", .level = l};
    leading = false;
    if (level.kind == LevelKind::range) {
      if (e.op != ExprNode::dim) return {.what = "the range level '%' is not a plain dimension", .expected = "a dimension that is a side of an earlier a + b or a - b", .level = l};
      if (!has_earlier_skew(s, p, tree, l, e.a))
        return {.what = "the range level '%' has no earlier skew", .expected = "an earlier level such as j - i or i + j", .fix = "put the skew in front, or use dense", .level = l};
    }
    if (level.kind == LevelKind::structured) {
      if (e.op != ExprNode::mod) return {.what = "the structured level '%' has no known size", .expected = "structured(n) stores n of the m of an expression e % m", .level = l};
      if (level.arg > e.n) return {.what = "'%' has fewer elements than structured stores", .expected = "structured(n) of e % m with n <= m", .level = l};
      if (e.n > (std::int64_t{1} << 32)) return {.what = "the group '%' is too large for structured", .expected = "at most 2^32", .level = l};
    }
  }
  return {};
}

// ---------------------------------------------------------------------------------------------------- specs
/// Appends the parts of `other`; false where they do not fit. The ranks agree, or `s` is empty.
constexpr bool append_parts(FormatSpec& s, const FormatSpec& other) {
  if (s.num_parts + other.num_parts > max_parts || s.num_levels + other.num_levels > max_levels || s.num_exprs + other.num_exprs > max_nodes ||
      s.num_inverses + other.num_inverses > max_nodes)
    return false;
  const auto shifted = [](int i, int by) { return static_cast<std::int16_t>(i < 0 ? i : i + by); };
  if (s.num_parts == 0) {
    s.num_dims = other.num_dims;
    s.dims = other.dims;
  }
  for (int k = 0; k < other.num_parts; ++k) {
    auto p = other.parts[static_cast<std::size_t>(k)];
    p.first_level = shifted(p.first_level, s.num_levels);
    for (int d = 0; d < other.num_dims; ++d) p.inverse[static_cast<std::size_t>(d)] = shifted(p.inverse[static_cast<std::size_t>(d)], s.num_inverses);
    s.parts[static_cast<std::size_t>(s.num_parts + k)] = p;
  }
  for (int l = 0; l < other.num_levels; ++l) {
    Level level = other.levels[static_cast<std::size_t>(l)];
    level.expr = shifted(level.expr, s.num_exprs);
    s.levels[static_cast<std::size_t>(s.num_levels + l)] = level;
  }
  for (int e = 0; e < other.num_exprs; ++e) {
    ExprNode n = other.exprs[static_cast<std::size_t>(e)];
    if (n.op != ExprNode::dim) n.a = shifted(n.a, s.num_exprs), n.b = shifted(n.b, s.num_exprs);
    s.exprs[static_cast<std::size_t>(s.num_exprs + e)] = n;
  }
  for (int i = 0; i < other.num_inverses; ++i) {
    InverseNode n = other.inverses[static_cast<std::size_t>(i)];
    if (n.op != InverseNode::level) n.a = shifted(n.a, s.num_inverses), n.b = shifted(n.b, s.num_inverses);
    s.inverses[static_cast<std::size_t>(s.num_inverses + i)] = n;
  }
  s.num_parts += other.num_parts;
  s.num_levels += other.num_levels;
  s.num_exprs += other.num_exprs;
  s.num_inverses += other.num_inverses;
  return true;
}

/// The identity of formats: everything but the names of dimensions. (The parser writes equal trees to equal places.)
constexpr bool same_structure(const FormatSpec& a, const FormatSpec& b) {
  if (a.num_dims != b.num_dims || a.num_parts != b.num_parts || a.num_levels != b.num_levels || a.num_exprs != b.num_exprs) return false;
  for (int k = 0; k < a.num_parts; ++k) {
    const auto &x = a.parts[static_cast<std::size_t>(k)], &y = b.parts[static_cast<std::size_t>(k)];
    if (x.first_level != y.first_level || x.num_levels != y.num_levels) return false;
  }
  for (int l = 0; l < a.num_levels; ++l)
    if (!(a.levels[static_cast<std::size_t>(l)] == b.levels[static_cast<std::size_t>(l)])) return false;
  for (int e = 0; e < a.num_exprs; ++e)
    if (!(a.exprs[static_cast<std::size_t>(e)] == b.exprs[static_cast<std::size_t>(e)])) return false;
  return true;
}

}  // namespace strata::detail
