// A matrix by diagonals from operands that have none: which strip of dense memory a value belongs to is read from a
// table.
#include "compiler/results.h"

namespace strata::merging {

void Results::put_on_diagonal(const Place& at, const Value& value, Stmts& out) {
  const Diagonals& d = in_.diagonals;
  const Expr& row = at.coordinate[static_cast<std::size_t>(d.row)];
  const Expr& column = at.coordinate[static_cast<std::size_t>(d.column)];
  const int strips = buffer(BufferBinding::out_strips, -1, 0, "out_strips", DType::i32);
  const int met = buffer(BufferBinding::out_met, -1, 0, "out_met", DType::u8, true);
  const std::string strip = names_.fresh("strip");
  out.push_back(
      ir::let(strip, ir::cast(DType::i64, ir::load(params_.param(strips), strips, column - row + extent(d.row) - 1))));
  out.push_back(ir::store(params_.param(met), met, ir::var(strip), ir::constant(Scalar::one(DType::u8))));
  const Expr index = ir::var(strip) * extent(d.along_columns ? d.column : d.row) + (d.along_columns ? column : row);
  meet(buffer(BufferBinding::output, -1, 0, "out", arithmetic_.part(), true), index, value, out);
}

}  // namespace strata::merging
