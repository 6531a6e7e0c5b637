#pragma once
// What becomes of values: a sum in registers, a place in the result.
#include <span>

#include "compiler/totals.h"

namespace strata::merging {

class Results : protected Totals {
 protected:
  explicit Results(const Input& input);
  ~Results() = default;

  // --- results.cpp ---
  bool absent_changes_nothing() const;
  Stmt leaf(const Place& at);
  /// One more term of the total.
  Stmt add_term(const Place& at);
  /// ... is added so where it is present.
  void note_term(const Expr& present, Stmts add, Stmts& out);
  Stmt accumulate(int var, const Place& at);
  /// The loops from counted_from_ on, and what is absent in each row of results inside them.
  Stmt count_by_row(const Place& at);
  /// One more term has come to the row, if anything is here.
  Stmt count_term(Place at);
  Expr places(int var);
  void put(const Place& at, const Element& e, Stmts& out);
  /// Where the place stands in a dense result's memory.
  Expr index_of(const Place& at);
  void put_on_diagonal(const Place& at, const Value& value, Stmts& out);

  // --- tile.cpp ---
  /// The sums of a piece of the tile.
  Stmt accumulate_piece(int var, const Place& at);
  Stmt leaf_of_piece(const Place& at);
  /// The sum over the loops from this variable on, in totals of its own, times its factors.
  Stmt sum_within(int var, const Place& at);
  /// One of the places of a block that are held.
  Place held_place(const Place& at, std::size_t which) const;
  /// Evaluates what does not change itself below nodes that do.
  void know(Place& at, const std::vector<char>& changes, Stmts& out);

  // --- scatter.cpp ---
  /// What does not change in the loops behind the tile, of each group of its piece.
  void know_groups(Place& at, Stmts& out);
  /// Adds the values of a piece to a row of the result.
  Stmt add_piece_to_row(const Place& at);

  // --- held.cpp ---
  /// The totals of all places, each of which is the sum of its lanes.
  void put_sums_of_lanes(const Place& at, const std::function<Value(Value)>& with_absent, Stmts& out);

  // --- slots.cpp ---
  /// Is every slot below these positions taken with its own coordinates, also where they share some, as nothing is kept
  /// for a run of them? A loop over short runs would be all about their ends.
  bool walks_by_slots(const Fiber& c) const;
  /// Are there sums in the slots of a pattern, of few vectors each?
  bool sums_in_slots() const;
  /// How many slots, one behind the other, the loop of this variable sums together; 1: each is summed by itself.
  int slots_together(int var) const;
  /// A piece of the dense block below each element of the pattern, from this variable on, whose sums stay in registers:
  /// its rows and columns. 0: there is no such block.
  struct BlockPiece {
    std::int64_t rows = 0, columns = 0;
  };
  BlockPiece piece_of_block(int var) const;
  int chains_of_slot() const;
  /// Sums side by side that stay in registers.
  int sums_held() const;
  /// The sum of one of several slots; with the last one come those of all.
  Stmt sum_of_slot(int var, const Place& at);
  void store_slots(std::span<const Place> slots, std::vector<Value> sums, Stmts& out);
  bool has_values_of_slots() const;
  /// A lane for each of so many slots, times what stands in these.
  Value times_values_of_slots(std::span<const Place> slots, Value sums, Stmts& out);
  std::vector<Place> waiting_;  ///< for the last of them

  /// A reduction that counts what is absent, with loops of the result inside: its own variables. -1: it has none
  /// inside.
  int counted_from_ = -1, counted_to_ = -1;
};

}  // namespace strata::merging
