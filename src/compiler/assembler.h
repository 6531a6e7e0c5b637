#pragma once
// Levels of the result that are appended to, and the row that is gathered in front of them.
#include "compiler/numeric.h"

namespace strata::merging {

class Assembler : protected NumericPhase {
 protected:
  explicit Assembler(const Input& input);
  ~Assembler() = default;

  // --- assembler.cpp ---
  /// Stores at this index of the buffer, or adds to what is there.
  void meet(int buffer, const Expr& index, const Value& value, Stmts& out);
  void append(int level, const Expr& coordinate, const Value* value, Stmts& out);
  /// The block below the last level: cleared, filled by the loops of the variables from `var` on, kept if anything
  /// came.
  void append_block(int var, const Place& at, const Expr& coordinate, Stmts& out);
  Expr block_size();
  void append_parent(int level, const Expr& coordinate, const Expr& start, Stmts& out);

  // --- workspace.cpp ---
  /// As append_block, into the workspace.
  void gather_block(int var, const Place& at, const Expr& coordinate, Stmts& out);
  void insert(const Expr& coordinate, const Value& value, Stmts& out);
  /// Notes in the workspace's bits that something came; says whether it is the first time.
  Expr mark(const Expr& coordinate, Stmts& out);
  Stmt drain();
  void take(const Expr& coordinate, Stmts& out);
  void take_block(const Expr& coordinate, Stmts& out);
  /// Where a block of the workspace has this place.
  void insert_in_block(const Place& at, const Value& value, Stmts& out);

  // --- held_mask.cpp ---
  bool can_hold_mask() const;
  /// The loops below the mask's row, which is spread before and wiped behind them.
  Stmt with_mask_held(const Place& at, Stmt loops);
  /// Does the mask let this coordinate through?
  Expr held_mask(const Expr& coordinate);

  bool holds_mask_ = false;  ///< the mask's row is scattered beside the workspace
};

}  // namespace strata::merging
