#pragma once
// Levels of the operand that is walked, as loops.
#include "compiler/sums.h"

namespace strata::compiler {

class Walk : protected Sums {
 protected:
  using Sums::Sums;
  ~Walk() = default;

  // --- walk.cpp ---
  ir::Stmt emit_level(std::size_t step, const Point& at);
  /// Loop over [first, last): `chains` copies with their own accumulators, then the rest on the first chain.
  ir::Stmt counted_loop(const std::string& stem, const ir::Expr& first, const ir::Expr& last, int chains,
                        int prefetched, const std::function<ir::Stmt(const ir::Expr&, int chain, bool last)>& body);
  ir::Stmt emit_run(std::size_t step, const Point& at);
  ir::Stmt emit_slots(std::size_t step, const Point& at);
  ir::Stmt emit_free(std::size_t step, const Point& at);
  ir::Stmt emit_row_tile(std::size_t step, const Point& at);
  ir::Stmt emit_constant(std::size_t step, const Point& at);
  ir::Stmt emit_prefetch(int level, const ir::Expr& position,
                         int iterations);  ///< for as many iterations from `position` on

  // --- prefetch.cpp: rows for elements to come ---
  void ask_for_row(const DenseAccess& access, const ir::Expr& row, Stmts& out);
  ir::Stmt emit_rows_ahead(const Point& at, int level, const ir::Expr& position);
  /// Behind the last position of a level that this call walks; none where that is not known in front of the loops.
  std::optional<ir::Expr> last_position(int level);
};

}  // namespace strata::compiler
