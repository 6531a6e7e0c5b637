// A dense block of slots below each element of a pattern: a piece of it at a time, as square as its sums fit in
// registers, so that each row read serves several of them.
#include "compiler/nest.h"

namespace strata::merging {

Stmt Nest::slots_of_block(int var, const Place& given) {
  Stmts out;
  if (!given.in_block.empty()) {  // the columns of a row
    for (std::size_t c = 0; c < given.in_block.size(); ++c) {
      Place at = given;
      at.chain = given.chain + static_cast<int>(c);
      out.push_back(enter(var, std::move(at), given.in_block[c], {}, {}));
    }
    return ir::block(std::move(out));
  }
  const BlockPiece piece = piece_of_block(var);
  const int last = summed_from_ - 1;
  const std::size_t lines = lines_.size();
  const auto loop = [&](int v, std::int64_t step, const auto& body) {
    const std::int64_t n = constant_extent(v);
    if (n == step) return body(ir::int_const(0));
    const std::string from = names_.fresh(letter(v) + "_piece");
    return ir::loop(from, ir::int_const(0), ir::int_const(n), body(ir::var(from)), step);
  };
  const auto columns = [&](const Expr& row, const Expr& column) {
    Stmts all;
    Place at = given;
    at.whole = true;
    at.slots = static_cast<int>(piece.rows * piece.columns);
    for (std::int64_t c = 0; c < piece.columns; ++c) at.in_block.push_back(column + c);
    for (std::int64_t r = 0; r < piece.rows; ++r) {
      at.chain = static_cast<int>(r * piece.columns);
      all.push_back(var == last ? slots_of_block(var, at) : enter(var, at, row + r, {}, {}));
    }
    return ir::block(std::move(all));
  };
  const Stmt whole = var == last ? loop(last, piece.columns, [&](const Expr& c) { return columns(nullptr, c); })
                                 : loop(var, piece.rows, [&](const Expr& r) {
                                     return loop(last, piece.columns, [&](const Expr& c) { return columns(r, c); });
                                   });
  lines_.resize(lines);
  lines_.push_back(loop_over(var) + (var == last ? "" : ", " + letter(last)) + " in pieces of " +
                   std::to_string(piece.rows) + " x " + std::to_string(piece.columns) + " slots, whose sums over " +
                   letter(summed_from_) + " run side by side");
  return whole_or_singly(var, last, given, whole);
}

Stmt Nest::whole_or_singly(int var, int last, const Place& at, const Stmt& whole) {
  Place corner = at;
  Expr inside;
  for (int v = var; v <= last; ++v) {
    corner.coordinate[static_cast<std::size_t>(v)] = ir::int_const(constant_extent(v) - 1);
    inside = both(inside, inside_bounds(v, corner));
  }
  if (!inside) return whole;
  const std::size_t told = lines_.size();
  Place one = at;
  one.singly = true;
  const Stmt single = emit(var, one);
  lines_.resize(told);
  return ir::branch(inside, whole, single);
}

}  // namespace strata::merging
