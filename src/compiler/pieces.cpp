#include "compiler/pieces.h"

namespace strata::compiler {

using ir::Expr;
using ir::Stmt;

Expr named(Names& names, std::vector<Stmt>& out, const std::string& stem, const Expr& e) {
  if (e->kind == ir::ValueNode::variable || e->kind == ir::ValueNode::constant ||
      e->kind == ir::ValueNode::scalar_param)
    return e;
  const std::string name = names.fresh(stem);
  out.push_back(ir::let(name, e));
  return ir::var(name, e->type);
}

std::vector<Group> groups_of(std::int64_t count, int lanes) {
  std::vector<Group> groups;
  for (std::int64_t at = 0; at < count;) {
    while (lanes > count - at) lanes /= 2;
    groups.push_back({at, lanes});
    at += lanes;
  }
  return groups;
}

Stmt loop_in_pieces(Names& names, const std::string& stem, const Expr& first, const Expr& last, const Pieces& pieces,
                    const Piece& body) {
  std::vector<Stmt> out;
  Expr from = named(names, out, stem + "_first", first);
  const Expr to = named(names, out, stem + "_last", last);
  if (pieces.overlap) {
    const std::int64_t width = std::int64_t{pieces.lanes} * pieces.vectors;
    const std::string v = names.fresh(stem), w = names.fresh(stem), x = names.fresh(stem);
    const Expr whole = named(names, out, stem + "_whole", to - ir::floor_mod(to - from, width));
    out.push_back(ir::loop(v, from, whole, body(ir::var(v), groups_of(width, pieces.lanes), true), width));
    const Stmt one = body(ir::var(x), {{0, pieces.lanes}}, false);
    out.push_back(
        ir::loop(w, whole, to, ir::block({ir::let(x, ir::min(ir::var(w), to - pieces.lanes)), one}), pieces.lanes));
    return ir::block(std::move(out));
  }
  std::vector<std::vector<Group>> widths;
  widths.push_back(groups_of(std::int64_t{pieces.lanes} * pieces.vectors, pieces.lanes));
  for (int vectors = pieces.vectors / 2; vectors > 0; vectors /= 2)
    widths.push_back(groups_of(std::int64_t{pieces.lanes} * vectors, pieces.lanes));
  for (int lanes = pieces.whole ? 0 : pieces.lanes / 2; lanes > 2; lanes /= 2) widths.push_back({{0, lanes}});
  if (pieces.lanes > 1 && !pieces.whole) widths.push_back({{0, 1}});
  for (std::size_t w = 0; w < widths.size(); ++w) {
    const std::int64_t width = widths[w].back().offset + widths[w].back().lanes;
    const std::string v = names.fresh(stem);
    // Whole pieces that fit in front of `to`; a range that is empty or reversed (a clipped one) gives none.
    const bool last_one = w + 1 == widths.size();
    const Expr stop = width == 1 ? to
                      : last_one ? to - (width - 1)
                                 : named(names, out, stem + "_stop", to - (width - 1));
    out.push_back(ir::loop(v, from, stop, body(ir::var(v), widths[w], w == 0), width));
    if (!last_one)
      from =
          named(names, out, stem + "_next", from + ir::floor_div(ir::max(to - from, ir::int_const(0)), width) * width);
  }
  return ir::block(std::move(out));
}

Stmt loop_in_pieces(Names& names, const std::string& stem, std::int64_t n, const Pieces& pieces, const Piece& body) {
  const std::int64_t width = std::int64_t{pieces.lanes} * pieces.vectors, whole = n / width;
  std::vector<Stmt> out;
  const auto all = groups_of(width, pieces.lanes);
  if (whole == 1) out.push_back(body(ir::int_const(0), all, true));
  if (whole > 1) {
    const std::string v = names.fresh(stem);
    out.push_back(ir::loop(v, ir::int_const(0), ir::int_const(whole * width), body(ir::var(v), all, true), width));
  }
  if (const std::int64_t rest = n - whole * width; rest > 0) {
    auto groups = groups_of(rest, pieces.lanes);
    while (pieces.overlap && !groups.empty() && groups.back().lanes < pieces.lanes) groups.pop_back();
    if (pieces.overlap && static_cast<std::int64_t>(groups.size()) * pieces.lanes < rest)
      groups.push_back({rest - pieces.lanes, pieces.lanes});
    out.push_back(body(ir::int_const(whole * width), groups, false));
  }
  return ir::block(std::move(out));
}

Stmt loop_in_chains(Names& names, const std::string& stem, const Expr& first, const Expr& last, int chains,
                    const std::function<Stmt(const Expr&, int, bool)>& body) {
  std::vector<Stmt> out;
  const auto loop = [&](const Expr& from, const Expr& to, int copies) {
    const std::string p = names.fresh(stem);
    std::vector<Stmt> inner;
    for (int c = 0; c < copies; ++c) inner.push_back(body(ir::var(p) + c, c, c + 1 == copies));
    out.push_back(ir::loop(p, from, to, ir::block(std::move(inner)), copies));
  };
  if (chains == 1) {
    loop(first, last, 1);
  } else {
    const Expr from = named(names, out, stem + "_first", first), to = named(names, out, stem + "_last", last);
    const Expr whole = named(names, out, stem + "_whole", from + ir::floor_div(to - from, chains) * chains);
    loop(from, whole, chains);
    loop(whole, to, 1);
  }
  return ir::block(std::move(out));
}

}  // namespace strata::compiler
