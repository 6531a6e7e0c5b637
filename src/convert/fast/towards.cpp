// Two strides where one has no shortcut: by rows or columns, which nearly every structure goes to and comes from.
#include "convert/fast/fast.h"
#include "format/recognise.h"

namespace strata::fast {
namespace {

/// Does the expression hold this dimension?
bool holds(const FormatSpec& spec, int expr, int dim) {
  const ExprNode& e = spec.exprs[static_cast<std::size_t>(expr)];
  if (e.op == ExprNode::dim) return e.a == dim;
  const bool pair = e.op == ExprNode::add || e.op == ExprNode::sub;
  return holds(spec, e.a, dim) || (pair && holds(spec, e.b, dim));
}

/// The dimension that comes first in this format: columns where its first level holds them alone.
int first_dim(const Format& format) {
  const Format part = format.part(0);
  return holds(part.spec(), part.level(0).expr, 0) ? 0 : 1;
}

/// Rows of what this dimension counts.
const Format& rows_along(int outer) {
  thread_local const Format csr = parse_format("CSR"), csc = parse_format("CSC");
  return outer == 0 ? csr : csc;
}

}  // namespace

std::optional<Format> rows_before(const Format& part) {
  if (const auto blocks = blocked_rows_of(part)) return rows_along(blocks->dims.outer);
  if (diagonals_of(part) >= 0) return rows_along(0);
  if (const auto padded = rows_of(part, LevelKind::padded)) return rows_along(padded->outer);
  return {};
}

std::optional<Tensor> towards(const Tensor& t, const Format& format, Zeros zeros) {
  if (t.rank() != 2) return {};
  for (int k = 0; k < format.num_parts(); ++k) {
    const Format part = format.part(k);
    for (const Level& l : part.levels())
      if (!l.ordered || l.kind == LevelKind::batch) return {};
  }
  ConvertOptions options;
  options.zeros = zeros;
  if (t.num_parts() == 1) {
    int outer = -1;
    const auto rows = rows_of(t.format(), LevelKind::compressed);
    if (const auto blocks = blocked_rows_of(t.format())) outer = blocks->dims.outer;
    else if (diagonals_of(t.format()) >= 0) outer = 0;
    else if (const auto padded = rows_of(t.format(), LevelKind::padded);
             padded && t.format().level(1).ordered && t.format().level(1).unique)
      outer = padded->outer;
    else if (const auto sorted = coordinates_of(t.format());
             sorted && t.format().level(0).ordered && t.format().level(1).ordered && t.format().level(1).unique)
      outer = sorted->outer;
    else if (const auto listed = listed_rows_of(t.format())) outer = listed->outer;
    else if (rows && rows->outer != first_dim(format)) outer = rows->inner;
    if (outer >= 0) return fast::convert(t, rows_along(outer), options);
    if (rows) return {};
  }
  if (format.num_parts() != 1 || !t.fill().same_bits(Scalar::zero(t.dtype()))) return {};
  if (const auto before = rows_before(format)) return strata::convert(t, *before, options);
  const auto listed = listed_rows_of(format);
  if (listed && !mostly_empty(t.shape()[static_cast<std::size_t>(listed->outer)], t.nse()))
    return strata::convert(t, rows_along(listed->outer), options);
  return {};
}

}  // namespace strata::fast
