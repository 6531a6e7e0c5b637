#pragma once
// What becomes of values: sums in registers and vectors, places in the result.
#include "compiler/merge/assembler.h"

namespace strata::merging {

class Results : protected Assembler {
 protected:
  explicit Results(const Input& input);
  ~Results() = default;

  // --- results.cpp ---
  Value total() const;
  /// Assigns the total and one more value.
  void add_to_total(const Value& value, Stmts& out);
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

  // --- vectors.cpp ---
  /// Has this node a vector of values along the innermost variable?
  bool has_lanes(int node, int var) const;
  Expr start_of_lanes() const {
    return ir::broadcast(in_.combine == Combine::plus ? arithmetic_.zero().re : constant(in_.absent).re, in_.lanes);
  }
  /// How many vectors the sums of the innermost loop go to; 0: it runs value by value.
  int vectors_of_sums() const;
  /// The node at `lanes` places from the innermost coordinate on.
  Value lanes_of(int node, const Place& at, Stmts& out);
  Value plain_lanes_of(int node, const Place& at, Stmts& out);
  bool present_everywhere(int node, const Place& at);
  /// Loops over whole vectors; `from`: where the rest begins. null: something may be absent.
  Stmt add_in_vectors(int var, Place at, Expr& from);
  /// Each lane has taken so many terms more: where these are enough, all join the total.
  void count_added(const Expr& terms, Stmts& out);
  /// What the vectors hold, to the total; they start again.
  void add_lanes(Stmts& out);

  compiler::Arithmetic total_;  ///< of sums in a register: these keep more digits
  int summed_from_ = -1;        ///< from this variable on all are summed: kept in a register; -1: none
  bool register_open_ = false;
  /// A reduction that counts what is absent, with loops of the result inside: its own variables. -1: it has none
  /// inside.
  int counted_from_ = -1, counted_to_ = -1;
  std::vector<std::string> sums_;  ///< vectors of the innermost sum, none where it runs value by value
  std::string found_;              ///< "" where it need not be known
};

}  // namespace strata::merging
