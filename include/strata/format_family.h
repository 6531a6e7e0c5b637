#pragma once
// Which named format a structure is: guess the numbers that a name would need, write its text, and compare.
#include "strata/format_parse.h"

namespace strata::detail {

constexpr bool is_all_dense(const FormatSpec& s) {
  for (int l = 0; l < s.num_levels; ++l)
    if (const auto k = s.levels[static_cast<std::size_t>(l)].kind; k != LevelKind::dense && k != LevelKind::batch)
      return false;
  return true;
}

/// The n of the first `d / n` (nested: of the first `(d % m) / n`), or 0.
constexpr std::int64_t divisor_of(const FormatSpec& s, int d, bool nested = false) {
  for (int e = 0; e < s.num_exprs; ++e) {
    const ExprNode& n = s.exprs[static_cast<std::size_t>(e)];
    if (n.op != ExprNode::div) continue;
    const ExprNode* inner = &s.exprs[static_cast<std::size_t>(n.a)];
    if (nested != (inner->op == ExprNode::mod)) continue;
    if (nested) inner = &s.exprs[static_cast<std::size_t>(inner->a)];
    if (inner->op == ExprNode::dim && inner->a == d) return n.n;
  }
  return 0;
}

struct FamilyNumbers {
  std::array<std::int64_t, max_format_arguments> values{};
  int count = 0;
  constexpr void add(std::int64_t n) { values[static_cast<std::size_t>(count++)] = n; }
};

/// The numbers between a name's parentheses, if this single-part format has that name.
constexpr FamilyNumbers guess_numbers(const FormatSpec& s, NamedFamily family) {
  FamilyNumbers g{};
  int batch = 0, trailing = 0;
  const auto kind = [&](int l) { return s.levels[static_cast<std::size_t>(l)].kind; };
  while (batch < s.num_levels && kind(batch) == LevelKind::batch) ++batch;
  while (trailing < s.num_levels && kind(s.num_levels - 1 - trailing) == LevelKind::dense) ++trailing;
  switch (family) {
    case NamedFamily::dense:
    case NamedFamily::dense_left:
    case NamedFamily::coo:
    case NamedFamily::csf: g.add(s.num_dims); break;
    case NamedFamily::coo_dense: g.add(s.num_dims - trailing), g.add(trailing); break;
    case NamedFamily::csr:
    case NamedFamily::csc: g.add(batch), g.add(s.num_dims - batch - 2); break;
    case NamedFamily::bsr:
    case NamedFamily::bsr_left:
    case NamedFamily::bsc:
    case NamedFamily::bsc_left:
      g.add(divisor_of(s, batch)), g.add(divisor_of(s, batch + 1)), g.add(batch), g.add(s.num_dims - batch - 2);
      break;
    case NamedFamily::tiled_csr: g.add(divisor_of(s, 0)), g.add(divisor_of(s, 1)); break;
    case NamedFamily::blocked_ell:
      g.add(divisor_of(s, 0)), g.add(divisor_of(s, 1));
      if (s.num_levels > 1 && s.levels[1].arg > 0) g.add(s.levels[1].arg);
      break;
    case NamedFamily::block_vector: g.add(divisor_of(s, 0)); break;
    case NamedFamily::bsr3: g.add(divisor_of(s, 0)), g.add(divisor_of(s, 1)), g.add(divisor_of(s, 2)); break;
    case NamedFamily::delta: g.add(s.num_levels > 1 ? s.levels[1].arg : 0); break;
    case NamedFamily::structured: g.add(s.num_levels > 2 ? s.levels[2].arg : 0), g.add(divisor_of(s, 1)); break;
    case NamedFamily::ell:
      if (s.num_levels > 1 && s.levels[1].arg > 0) g.add(s.levels[1].arg);
      break;
    case NamedFamily::nested_bsr:
      g.add(divisor_of(s, 0)), g.add(divisor_of(s, 1)), g.add(divisor_of(s, 0, true)), g.add(divisor_of(s, 1, true));
      break;
    default: break;
  }
  return g;
}

/// Is this format (of one part) the named one, with whatever numbers?
constexpr bool is_family(const FormatSpec& s, NamedFamily family) {
  if (s.num_parts != 1) return false;
  const FamilyNumbers g = guess_numbers(s, family);
  FormatText text{};
  if (expand_named_format(family, g.values, g.count, -1, text)) return false;
  int levels = 0;  // parse only what may be it
  for (const char c : text.view()) levels += c == ':';
  if (levels != s.num_levels) return false;
  FormatParser parser(text.view(), -1, {});
  return parser.parse() && same_structure(parser.spec, s);
}

}  // namespace strata::detail
