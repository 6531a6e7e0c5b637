#pragma once
// Are the levels of a part the leaves of a tree of splits and skews? On the way back to the dimensions the inverse is
// written down.
#include "strata/format_fault.h"

namespace strata::detail {

/// Reduces the levels of one part to its dimensions: {e / n, e % n} becomes e, and {a + b, a} becomes {a, b}. What is
/// left must be the dimensions, each once; on the way the inverse is written down.
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
        if (x.op == y.op && x.n == y.n && operand(x.a, is_dim) == operand(y.a, is_dim) &&
            canonical(x.b) == canonical(y.b))
          break;
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
      if (o != k && reads(known[static_cast<std::size_t>(o)].expr, known[static_cast<std::size_t>(k)].expr))
        return true;
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
      const Known whole{canonical(e.a), inverse(InverseNode::join, q.inverse, m.inverse, e.n),
                        q.level > m.level ? q.level : m.level};
      known[static_cast<std::size_t>(k < r ? k : r)] = whole;
      for (int o = (k < r ? r : k) + 1; o < count; ++o)
        known[static_cast<std::size_t>(o - 1)] = known[static_cast<std::size_t>(o)];
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
      i = plus ? inverse(InverseNode::difference, skew.inverse, side)
               : inverse(InverseNode::difference, side, skew.inverse);
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
            return {.what = "'%' has the same on both sides",
                    .expected = "a + b or a - b of two different expressions",
                    .level = l};
    for (int l = p.first_level; l < p.first_level + p.num_levels; ++l) {
      const int e = canonical(s.levels[static_cast<std::size_t>(l)].expr);
      if (find(e) >= 0)
        return {.what = "two levels store '%'",
                .expected = "every expression once",
                .fix = "remove one of the two levels",
                .level = l};
      known[static_cast<std::size_t>(count)] = {e, inverse(InverseNode::level, l - p.first_level, -1), l};
      ++count;
    }
    for (int d = 0; d < s.num_dims; ++d) {
      bool read = false;
      for (int l = p.first_level; l < p.first_level + p.num_levels; ++l)
        read = read || reads_dim(s.levels[static_cast<std::size_t>(l)].expr, d);
      if (!read)
        return {.what = "no level stores dimension '%'",
                .expected = "every dimension in some level",
                .dim = d,
                .hint = FormatFault::missing_level};
    }
    for (bool changed = true; changed && !overflow;) {
      changed = false;
      for (int k = 0; k < count && !changed; ++k) {
        const auto op = at(known[static_cast<std::size_t>(k)].expr).op;
        changed = op == ExprNode::div ? join(k) : op == ExprNode::add || op == ExprNode::sub ? unskew(k) : false;
        if (changed)  // what was found out must not be known already
          for (int x = 0; x < count; ++x)
            if (const int y = find(known[static_cast<std::size_t>(x)].expr, x); y > x) {
              const int last =
                  known[static_cast<std::size_t>(x)].level > known[static_cast<std::size_t>(y)].level ? x : y;
              return said_again(known[static_cast<std::size_t>(last)].level);
            }
      }
    }
    if (overflow)
      return {.what = "the expressions of the levels are too entangled",
              .expected = "an inverse of at most 512 operations"};
    for (int k = 0; k < count; ++k)
      if (const auto f = stuck(k); f.what) return f;
    for (int k = 0; k < count; ++k) {
      const Known& x = known[static_cast<std::size_t>(k)];
      p.inverse[static_cast<std::size_t>(at(x.expr).a)] = static_cast<std::int16_t>(x.inverse);
    }
    return {};
  }

  static constexpr FormatFault said_again(int level) {
    return {.what = "'%' repeats what other levels store",
            .expected = "levels that are the leaves of a tree of splits and skews",
            .fix = "remove this level",
            .level = level};
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
      return {.what = "'%' lacks its other half",
              .expected = "e / n and e % n of the same e and n",
              .level = x.level,
              .hint = FormatFault::other_half,
              .node = x.expr};
    return {.what = "nothing resolves '%'",
            .expected = "a level for one of its two sides",
            .level = x.level,
            .hint = FormatFault::skew_side,
            .node = x.expr};
  }
};

}  // namespace strata::detail
