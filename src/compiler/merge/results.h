#pragma once
// What becomes of values: a sum in registers, a place in the result.
#include "compiler/merge/totals.h"

namespace strata::merging {

class Results : protected Totals {
 protected:
  explicit Results(const Input& input);
  ~Results() = default;

  // --- results.cpp ---
  bool absent_changes_nothing() const;
  Stmt leaf(const Place& at);
  Stmt accumulate(int var, const Place& at);
  /// The loops from counted_from_ on, and what is absent in each row of results inside them.
  Stmt count_by_row(const Place& at);
  /// One more term has come to the row, if anything is here.
  Stmt count_term(Place at);
  Expr places(int var);
  void put(const Place& at, const Element& e, Stmts& out);
  void put_on_diagonal(const Place& at, const Value& value, Stmts& out);

  // --- tile.cpp ---
  /// The sums of a piece of the tile.
  Stmt accumulate_piece(int var, const Place& at);
  Stmt leaf_of_piece(const Place& at);

  /// A reduction that counts what is absent, with loops of the result inside: its own variables. -1: it has none
  /// inside.
  int counted_from_ = -1, counted_to_ = -1;
};

}  // namespace strata::merging
