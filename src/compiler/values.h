#pragma once
// Values of the tree.
#include "compiler/cursors.h"

namespace strata::merging {

/// What the tree's nodes are worth at a place.
class Values : protected Cursors {
 protected:
  explicit Values(const Input& input);
  ~Values() = default;

  Element evaluate(int node, const Place& at, Stmts& out);
  Element value_of(int node, const Place& at, Stmts& out);
  /// Computes what is complete with this variable and stands below a loop that does not change it.
  void hoist(int var, Place& at, Stmts& out);
  // --- rows_ahead.cpp ---
  /// In front of the loop over this operand's elements: the last of them that may be read. null: it is not known
  Expr last_element(const Fiber& only, Stmts& out);
  /// Asks for the rows (in the tile: for the piece's part of them) that an element some positions later chooses.
  /// `skipped`: elements behind those of this row that have its coordinates again; null: none
  void prefetch_rows(const Place& at, const Fiber& only, const Expr& last, Stmts& out, const Expr& skipped = nullptr);
  /// Asks for rows that a later row of the pattern reads.
  void prefetch_by_row(int var, const Place& at, const Expr& row, Stmts& out);
  void prefetch_row(int operand, const Place& later, bool second_level, Stmts& out);

  // --- values.cpp ---
  /// Is a factor that is complete with this variable the one that makes every product what sums start from? Then the
  /// loops inside add nothing. null: there is none
  Expr annihilated(int var, const Place& at) const;
  Expr dense_index(int operand, const Place& at);
  Element load(const ElementwiseNode& node, const Place& at, Stmts& out);
  /// An argument's value in the node's compute dtype; `filled`: its fill where it is absent.
  Element argument(const ElementwiseNode& node, std::size_t which, bool filled, const Place& at, Stmts& out);
  Value apply(const ElementwiseNode& n, const Value& a, const Value& b) const;
  /// What a user's multiplication makes of two values.
  Value made_of(const ElementwiseNode& n, const Value& a, const Value& b, Stmts& out);
  Value apply(const ElementwiseNode& n, const Value& a) const;
  /// What a node computed, as f16 and bf16 keep it.
  Value rounded(const ElementwiseNode& n, const Value& v) const;
  Value cast(const Value& v, DType from, DType to) const;
  Value combine(const Value& a, const Value& b) const;
  Value constant(const Scalar& s) const;
  /// What stands for a missing element in this dtype: where it is a type's extreme, the other type's.
  Scalar nothing(DType t) const;
  Expr is_absent(const Value& v) const;
  Value named(const std::string& stem, const Value& v, Stmts& out);
  /// Do an operand's values change along the variable that is taken in vectors: the tile, or else the innermost one? A
  /// node's?
  bool moves(int operand) const;
  /// Are values in the slots of a pattern, below each of whose elements stands a dense block, taken in vectors?
  bool takes_places_in_vectors() const;
  bool in_vectors_ = false;  ///< ... they are
  /// Does an operand have variables whose places are held?
  bool is_held(int operand) const;
  /// A product without choices has come (see checked_sums.cpp).
  virtual void note_unsure(const Value& product, int chain, Stmts& out) = 0;
  bool checks_ = false;  ///< products are made so
  /// Both as wide as the wider one.
  void widen(Value& a, Value& b) const;

  compiler::Arithmetic arithmetic_;     ///< of the result
  std::vector<int> last_var_, parent_;  ///< per node: the last variable that it depends on, -1; its parent, -1
  std::vector<char> moves_;             ///< per node: does it change along that?
  std::vector<char> held_;              ///< ... between places that are held?
};

}  // namespace strata::merging
