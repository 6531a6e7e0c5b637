#pragma once
// The few structures that hand-written code knows, recognised from a format's levels (never from its name).
#include <optional>

#include "strata/format.h"

namespace strata {

/// The dimension that level l stores plainly, or -1.
inline int plain_dim(const Format& f, int l) {
  const ExprNode& e = f.spec().exprs[static_cast<std::size_t>(f.level(l).expr)];
  return e.op == ExprNode::dim ? e.a : -1;
}

/// Two dimensions, the first level's and the second's.
struct DimPair {
  int outer = 0, inner = 1;
  bool operator==(const DimPair&) const = default;
};

/// (u : dense, v : KIND): CSR and CSC for compressed, bitmap rows for bitmap.
inline std::optional<DimPair> rows_of(const Format& f, LevelKind kind) {
  if (f.num_parts() != 1 || f.rank() != 2 || f.num_levels() != 2 || f.level(0).kind != LevelKind::dense ||
      f.level(1).kind != kind)
    return {};
  const DimPair d{plain_dim(f, 0), plain_dim(f, 1)};
  if (d.outer < 0 || d.inner < 0) return {};
  return d;
}

/// (u : compressed, v : singleton): COO, whatever its properties.
inline std::optional<DimPair> coordinates_of(const Format& f) {
  if (f.num_parts() != 1 || f.rank() != 2 || f.num_levels() != 2 || f.level(0).kind != LevelKind::compressed ||
      f.level(0).unique || f.level(1).kind != LevelKind::singleton)
    return {};
  const DimPair d{plain_dim(f, 0), plain_dim(f, 1)};
  if (d.outer < 0 || d.inner < 0) return {};
  return d;
}

/// (u : compressed, v : compressed), both sorted and without duplicates: DCSR and DCSC.
inline std::optional<DimPair> listed_rows_of(const Format& f) {
  if (f.num_parts() != 1 || f.rank() != 2 || f.num_levels() != 2) return {};
  for (int l : {0, 1})
    if (f.level(l).kind != LevelKind::compressed || !f.level(l).unique || !f.level(l).ordered) return {};
  const DimPair d{plain_dim(f, 0), plain_dim(f, 1)};
  if (d.outer < 0 || d.inner < 0) return {};
  return d;
}

/// The dimension d whose d / n or d % n (`op`) level l stores, with n; or -1.
inline int split_dim(const Format& f, int l, ExprNode::Op op, std::int64_t& n) {
  const auto& exprs = f.spec().exprs;
  const ExprNode& e = exprs[static_cast<std::size_t>(f.level(l).expr)];
  if (e.op != op) return -1;
  n = e.n;
  const ExprNode& inner = exprs[static_cast<std::size_t>(e.a)];
  return inner.op == ExprNode::dim ? static_cast<int>(inner.a) : -1;
}

/// Two levels of quotients (u / r, v / c), then u % r and v % c, in either order.
struct BlockedRows {
  DimPair dims;
  std::int64_t rows = 0, columns = 0;  ///< of one block, along dims.outer and dims.inner
  bool column_major = false;           ///< the inner dimension's remainder stands above the outer's
};
inline std::optional<BlockedRows> blocks_of(const Format& f, LevelKind quotient, LevelKind remainder) {
  if (f.num_parts() != 1 || f.rank() != 2 || f.num_levels() != 4 || f.level(0).kind != LevelKind::dense ||
      f.level(1).kind != quotient || f.level(2).kind != LevelKind::dense || f.level(3).kind != remainder)
    return {};
  BlockedRows b;
  std::int64_t n2 = 0, n3 = 0;
  b.dims.outer = split_dim(f, 0, ExprNode::div, b.rows), b.dims.inner = split_dim(f, 1, ExprNode::div, b.columns);
  const int d2 = split_dim(f, 2, ExprNode::mod, n2), d3 = split_dim(f, 3, ExprNode::mod, n3);
  if (b.dims.outer < 0 || b.dims.inner < 0 || b.dims.outer == b.dims.inner) return {};
  if (d2 == b.dims.outer && d3 == b.dims.inner && n2 == b.rows && n3 == b.columns) return b;
  b.column_major = true;
  if (d2 == b.dims.inner && d3 == b.dims.outer && n3 == b.rows && n2 == b.columns) return b;
  return {};
}

/// (u / r : dense, v / c : compressed, then u % r and v % c : dense in either order): BSR.
inline std::optional<BlockedRows> blocked_rows_of(const Format& f) {
  return blocks_of(f, LevelKind::compressed, LevelKind::dense);
}

/// (u / r : dense, v / c : dense, u % r : dense, v % c : compressed): CSR in tiles.
inline std::optional<BlockedRows> tiled_rows_of(const Format& f) {
  const auto b = blocks_of(f, LevelKind::dense, LevelKind::compressed);
  return b && !b->column_major ? b : std::nullopt;
}

/// (j - i : compressed, i or j : range) over dimensions i = 0, j = 1: the dimension of the range level, or -1.
inline int diagonals_of(const Format& f) {
  if (f.num_parts() != 1 || f.rank() != 2 || f.num_levels() != 2 || f.level(0).kind != LevelKind::compressed ||
      f.level(1).kind != LevelKind::range)
    return -1;
  const auto& exprs = f.spec().exprs;
  const ExprNode& skew = exprs[static_cast<std::size_t>(f.level(0).expr)];
  if (skew.op != ExprNode::sub) return -1;
  const ExprNode &a = exprs[static_cast<std::size_t>(skew.a)], &b = exprs[static_cast<std::size_t>(skew.b)];
  return a.op == ExprNode::dim && a.a == 1 && b.op == ExprNode::dim && b.a == 0 ? plain_dim(f, 1) : -1;
}

}  // namespace strata
