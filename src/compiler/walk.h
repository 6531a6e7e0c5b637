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

  // --- identical_rows.cpp: rows with the same coordinates ---
  static constexpr int identical_rows = 4;
  ir::Stmt emit_identical_rows(const Point& at, const levels::Cursor& cursor,
                               const std::function<levels::Cursor()>& open,
                               const std::function<ir::Stmt(const Point&, const levels::Cursor&)>& inside);
  std::string count_identical_rows(const std::string& row, const ir::Expr& end,
                                   const std::function<ir::Expr(const ir::Expr&)>& position, Stmts& out);
  void load_twins(Point& at, Stmts& out);

  // --- prefetch.cpp: rows for elements to come ---
  /// How rows of an operand are asked for that stored coordinates choose.
  struct Asks {
    int ahead = 0;  ///< elements before they are read; 0: not at all
    bool second_level = false;
    int then = 0;   ///< and so many before into the first level too; 0: not
    int near = -1;  ///< not where they lie so near the present one; -1: everywhere
  };
  bool asks_by_order() const;
  Asks asks_of(int operand) const;
  void ask_for_row(const DenseAccess& access, const ir::Expr& row, bool second, Stmts& out);
  ir::Stmt emit_rows_ahead(const Point& at, int level, const ir::Expr& position, int elements = 1);
  /// What follows by itself, for the rows of a level to come: their own rows, and those along a diagonal.
  ir::Stmt emit_rows_in_order(const Point& at, int level, const ir::Expr& coordinate);
  /// Behind the last position of a level that this call walks; none where that is not known in front of the loops.
  std::optional<ir::Expr> last_position(int level);
};

}  // namespace strata::compiler
