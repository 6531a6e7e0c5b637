#pragma once
// What makes a format valid, and its inverse. All constexpr and without exceptions: a fault is a value.
//
// Decisions about the meaning of levels
//  - `unique` and `ordered` may be written on every type, since they are always true of most; `nonunique` and
//  `unordered` only on
//    compressed, singleton and padded. A dense, batch, range, bitmap or structured level cannot repeat or shuffle
//    coordinates, and delta's gaps only ascend.
//  - singleton may follow every type, but is not the first level (nor the first after the batches): there the tensor
//  could hold one
//    element. Below a level that stores every coordinate (dense, range) it holds exactly one element each.
//  - `e / n` and `e % n` may come in either order: `(j % 4 : dense, j / 4 : dense)` is the cyclic distribution.
//  - A skew `a + b`, `a - b` may be of any type (dense: all diagonals are stored), and the level beside it may be of
//  any type too; `range`
//    belongs to a plain dimension that is an operand of a skew whose levels all come earlier.
//  - structured(n) belongs to `e % m`, n <= m <= 2^32, or to a dimension, of which each parent has n. delta has 1 to 32
//  bits. batch belongs to a plain dimension that no other level reads.
#include "strata/format_tree.h"

namespace strata::detail {

/// Is dimension d a side of a skew in earlier levels, all of them before level l?
constexpr bool has_earlier_skew(const FormatSpec& s, const PartSpec& p, const InverseBuilder& tree, int l, int d) {
  bool found = false;
  for (int e = tree.first_expr; e < s.num_exprs; ++e) {
    const ExprNode& n = tree.at(e);
    if (n.op != ExprNode::add && n.op != ExprNode::sub) continue;
    const auto is_side = [&](int x) { return tree.at(x).op == ExprNode::dim && tree.at(x).a == d; };
    if (!is_side(n.a) && !is_side(n.b)) continue;
    bool earlier = true;
    for (int o = l; o < p.first_level + p.num_levels; ++o)
      earlier = earlier && !tree.reads(s.levels[static_cast<std::size_t>(o)].expr, tree.canonical(e));
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
      if (!leading)
        return {
            .what = "the batch level '%' is not in front", .expected = "batch levels before all others", .level = l};
      if (e.op != ExprNode::dim)
        return {.what = "the batch level '%' is not a plain dimension",
                .expected = "a dimension",
                .fix = "use dense",
                .level = l};
      for (int o = p.first_level; o < p.first_level + p.num_levels; ++o)
        if (o != l && tree.reads_dim(s.levels[static_cast<std::size_t>(o)].expr, e.a))
          return {.what = "'%' reads the dimension of a batch level",
                  .expected = "a batch is an outer loop: the levels inside know nothing of it",
                  .fix = "use dense instead of batch",
                  .level = o};
      continue;
    }
    if (level.kind == LevelKind::singleton && leading)
      return {.what = "the singleton level '%' has no parent",
              .expected = "another level in front: a singleton stores one coordinate for each of its positions",
              .fix = "use compressed",
              .level = l};
    leading = false;
    if (level.kind == LevelKind::range) {
      if (e.op != ExprNode::dim)
        return {.what = "the range level '%' is not a plain dimension",
                .expected = "a dimension that is a side of an earlier a + b or a - b",
                .level = l};
      if (!has_earlier_skew(s, p, tree, l, e.a))
        return {.what = "the range level '%' has no earlier skew",
                .expected = "an earlier level such as j - i or i + j",
                .fix = "put the skew in front, or use dense",
                .level = l};
    }
    if (level.kind == LevelKind::structured) {
      if (e.op != ExprNode::mod && e.op != ExprNode::dim)
        return {.what = "the structured level '%' has no known size",
                .expected = "structured(n) stores n of the m of an expression e % m, or n of a dimension",
                .level = l};
      if (e.op == ExprNode::mod && level.arg > e.n)
        return {.what = "'%' has fewer elements than structured stores",
                .expected = "structured(n) of e % m with n <= m",
                .level = l};
      if (e.op == ExprNode::mod && e.n > (std::int64_t{1} << 32))
        return {.what = "the group '%' is too large for structured", .expected = "at most 2^32", .level = l};
    }
  }
  return {};
}

// ---------------------------------------------------------------------------------------------------- specs
/// Appends the parts of `other`; false where they do not fit. The ranks agree, or `s` is empty.
constexpr bool append_parts(FormatSpec& s, const FormatSpec& other) {
  if (s.num_parts + other.num_parts > max_parts || s.num_levels + other.num_levels > max_levels ||
      s.num_exprs + other.num_exprs > max_nodes || s.num_inverses + other.num_inverses > max_nodes)
    return false;
  const auto shifted = [](int i, int by) { return static_cast<std::int16_t>(i < 0 ? i : i + by); };
  if (s.num_parts == 0) {
    s.num_dims = other.num_dims;
    s.dims = other.dims;
  }
  for (int k = 0; k < other.num_parts; ++k) {
    auto p = other.parts[static_cast<std::size_t>(k)];
    p.first_level = shifted(p.first_level, s.num_levels);
    for (int d = 0; d < other.num_dims; ++d)
      p.inverse[static_cast<std::size_t>(d)] = shifted(p.inverse[static_cast<std::size_t>(d)], s.num_inverses);
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
  if (a.num_dims != b.num_dims || a.num_parts != b.num_parts || a.num_levels != b.num_levels ||
      a.num_exprs != b.num_exprs)
    return false;
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
