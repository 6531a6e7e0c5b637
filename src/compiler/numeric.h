#pragma once
// Levels of an assembled result, and what an earlier one has there.
#include "compiler/values.h"

namespace strata::merging {

/// The first summed variable that has one of the result inside it; -1: none.
int first_inverted(const std::vector<char>& summed);

/// What the result's levels are, and the numeric phase over those of an earlier one.
class NumericPhase : protected Values {
 protected:
  explicit NumericPhase(const Input& input);
  ~NumericPhase() = default;

  /// The loops from this variable on, with what stands in front of them and behind.
  virtual Stmt emit(int var, const Place& at) = 0;
  virtual Stmt emit_loop(int var, const Place& at) = 0;

  /// Where an assembled result has its next element of a level.
  Expr size(int level) const { return ir::var("n" + std::to_string(level)); }
  bool is_numeric() const { return in_.earlier >= 0; }
  Expr capacity(int level) { return scalar(ScalarBinding::capacity, -1, level, "capacity" + std::to_string(level)); }
  Expr earlier_pos(int level, const Expr& parent);
  /// Has the earlier result its next element of this level at this coordinate?
  Expr is_next(int level, const Expr& coordinate);
  /// ... below the parents where the loops stand?
  Expr has_next(int level, const Place& at);
  /// Of the parent where the loops stand.
  Expr end_of_children(int level, const Place& at);
  /// In place of append(), append_parent(), insert() and drain().
  void put_next(const Expr& coordinate, const Value& value, Stmts& out);
  /// Below a dense level: rows that no loop came to have nothing there either.
  void check_start(const Expr& coordinate, const Expr& start, Stmts& out);
  void check_parent(int level, const Expr& coordinate, const Expr& start, Stmts& out);
  void put_in_slot(const Expr& coordinate, const Value& value, Stmts& out);
  Stmt fill_row(int var, const Place& at);
  /// Has each of so many slots been met? They are forgotten.
  Stmt all_met(const Expr& slots);
  /// Buffers: the slot of a coordinate, what slots were met, values.
  struct Workspace {
    int slots, met, values;
  };
  Workspace workspace();
  /// Behind all rows: nothing of the earlier result is left.
  void check_ends(Stmts& out);

  std::vector<int> levels_;         ///< assembled: variable of each level
  std::vector<int> tail_;           ///< assembled: variables of the dense block below the last level
  std::vector<int> level_of_;       ///< per variable: level of the result, -1
  int workspace_ = -1;              ///< variable held in the workspace
  int drained_ = -1;                ///< ... which is emptied behind the loop of this variable
  bool inverted_ = false;           ///< a variable of the result stands inside a summed one
  std::vector<std::string> lines_;  ///< the loops, for explain()
  /// The beginning of such a line.
  static std::string loop_over(int var) {
    return std::string(static_cast<std::size_t>(2 * var), ' ') + "for " + letter(var);
  }

 private:
  /// Do values that come to a slot note it there?
  enum class Notes : std::uint8_t { none, at_once, again /* that alone: they were added before */ };
  Notes notes_ = Notes::none;
  std::string row_begin_;  ///< the first slot of the row in the workspace
};

}  // namespace strata::merging
