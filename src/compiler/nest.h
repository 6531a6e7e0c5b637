#pragma once
// The nest of loops.
#include "compiler/results.h"

namespace strata::merging {

class Nest : private Results {
 public:
  explicit Nest(const Input& input) : Results(input) {}
  LoweredNest build();

 private:
  // --- lower.cpp ---
  /// One loop over the slots of the pattern, in place of a nest of them.
  Stmt every_slot(Place at);
  /// The loops of each panel of rows, whose blocks are gathered in the workspace.
  Stmt every_panel(const Place& at);

  // --- loops.cpp ---
  Stmt emit(int var, const Place& at) override;
  Stmt emit_loop(int var, const Place& at) override;
  Stmt emit_tile(const Place& at);
  /// These loops without the choices of a semiring, and again with them, in one chain, where a product needed them.
  Stmt checked(const std::vector<int>& lanes, const std::function<Stmt()>& loops);
  // --- held.cpp ---
  /// The loops behind the places of a block that are held, for all of these at once.
  Stmt emit_held(const Place& at);
  /// ... for the piece that begins at these coordinates.
  Stmt places_at_once(int behind, const Place& at, const std::vector<Expr>& base);
  /// The loop over a summed variable of constant extent in there.
  Stmt sum_of_block(int var, const Place& at);
  bool has_level(int operand, int var, const Place& at) const;
  Stmt every_coordinate(int var, const Place& at, std::vector<Fiber>& cursors);
  Stmt one_driver(int var, const Place& at, std::vector<Fiber>& cursors, std::size_t driver, const Set& set);
  /// `slots`: chains are not of totals, but of so many slots.
  Stmt in_chains(int var, const Place& at, const Fiber& only, const Set& set, int slots = 1);
  Stmt coordinates_in_chains(int var, const Place& at, const Expr& first, const Expr& last, int chains, int slots = 1);
  /// In front of the loop over this operand's elements, whose coordinates choose rows that are prefetched: the last
  /// element that may be read. null: none are
  Expr last_element_of(int var, const Fiber& only, Stmts& out);
  Stmt merge(int var, const Place& at, const std::vector<Fiber>& cursors, const std::vector<int>& driving,
             const Set& set);
  Stmt merge_while(int var, Place at, std::vector<Fiber> cursors, const std::vector<int>& driving, const Set& set,
                   bool all_inside);
  /// What one cursor has left when the others are through.
  Stmt rest_of(int var, Place at, std::vector<Fiber> cursors, std::size_t which, const Set& set);
  /// The body of the loop at this coordinate, behind the test that the set demands.
  Stmt enter(int var, Place at, const Expr& coordinate, const std::vector<Fiber>& cursors, const Set& set);
  /// Is the place inside the bounds that are complete with this variable? null: there are none, or nothing to ask
  Expr inside_bounds(int var, const Place& at);
  /// The bounds that a loop over all coordinates of this variable can keep itself; true where these are all of them.
  bool keep_bounds(int var, const Place& at, Expr& first, Expr& last);
  /// Does a dense mask let this place through?
  Expr dense_mask(const Place& at);
  Expr holds(const Set& set, const std::vector<Fiber>& cursors) const;

  // --- block.cpp ---
  /// The loops over a dense block of the pattern, in pieces whose sums run side by side.
  Stmt slots_of_block(int var, const Place& at);
  /// `whole` where the block that these variables span lies inside the bounds; of blocks that do not divide some have
  /// places beyond the last one, and are taken place by place.
  Stmt whole_or_singly(int var, int last, const Place& at, const Stmt& whole);

  // --- places.cpp ---
  /// The loop over the last variable of a pattern in blocks. null: not in vectors
  Stmt places_in_vectors(int var, const Place& at);

  // --- identical.cpp ---
  /// Is this a loop over rows of a pattern that may be identical?
  bool has_identical_rows(int var) const;
  Stmt identical_rows(int var, const Place& at, const Expr& first, const Expr& last);
  std::string count_identical_rows(const Expr& parent, const std::string& row, const Expr& end, int var, Stmts& out);
  /// The slots of one of several identical rows; with the last row come those of all.
  Stmt slots_of_identical_rows(int var, const Place& at, const Fiber& own, const Set& set);
  std::vector<std::pair<Place, Fiber>> rows_;  ///< waiting for the last of them

  // --- chosen.cpp ---
  /// The loop over all coordinates where a factor annihilates most: the others are found first. null: there is no such
  /// factor
  Stmt chosen_coordinates(int var, const Place& at);
  /// Asks for what operands store below this place, in levels of this variable. null: nothing
  Stmt prefetch_children(int var, const Place& at);
};

}  // namespace strata::merging
