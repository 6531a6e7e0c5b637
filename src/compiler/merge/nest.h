#pragma once
// The nest of loops under construction.
#include <algorithm>
#include <functional>
#include <optional>

#include "compiler/merge/iteration.h"
#include "compiler/params.h"
#include "compiler/value.h"
#include "levels/steps.h"

namespace strata::merging {

using compiler::Arithmetic;
using compiler::Value;
using ir::Expr;
using ir::Stmt;
using Stmts = std::vector<Stmt>;

constexpr std::int64_t word_bits = 64;
inline Expr shift_right(const Expr& e, std::int64_t n) { return ir::binary(ir::Op::shift_right, e, ir::int_const(n)); }
/// The bit of a coordinate in its word.
inline Expr bit_of(const Expr& e) {
  return ir::binary(ir::Op::shift_left, ir::int_const(1), ir::binary(ir::Op::bit_and, e, ir::int_const(word_bits - 1)));
}

/// Fibers longer than this many times the driver's are searched.
constexpr double search_factor = 8;

inline Expr both(const Expr& a, const Expr& b) { return !a ? b : !b ? a : ir::logical_and(a, b); }

struct Element {
  Expr present;  ///< null: certainly
  Value value;
};

/// What is known at one point of the nest.
struct Place {
  std::vector<Expr> coordinate;  ///< per variable, null below
  std::vector<Expr> position;    ///< per operand: in the level entered last
  std::vector<Expr> next;        ///< per operand: first position of that level with another coordinate; null: the next
  std::vector<Expr> present;     ///< per operand: is there an element so far? null: certainly
  std::vector<int> level;        ///< per operand: the level entered next
  bool holds = false;            ///< the tests of the loops so far say that the whole tree has a value here
  std::vector<char> readable;    ///< per operand: its position may be read even where it is not present
  std::vector<std::optional<Element>> known;  ///< per node of the tree: computed already
  bool in_bounds = false;                     ///< the loop around has kept inside the bounds that end with its variable
  Expr passes;  ///< does the mask let the value through, where no jump has asked? null: it does
};

class Nest {
 public:
  explicit Nest(const Input& input);
  Lowered build();

 private:
  /// The children of one position of a level that has not all coordinates.
  struct Cursor {
    int operand = -1, level = 0;
    std::string p;  ///< the variable that counts
    Expr begin, end;
    Expr has;          ///< does it stand at the loop's coordinate? null: certainly
    std::string next;  ///< first position with another coordinate, known inside the loop; "": every one has another
    bool has_unused = false;  ///< of a padded level, up to the last slot: the unused ones are still to be left out
    std::optional<levels::Steps> steps;  ///< how to get from one coordinate to the next, where no array has them
    Expr origin;                         ///< with steps: the parent's first position, where that is not `begin`
  };

  // --- cursors.cpp ---
  Cursor open(int var, int operand, const Place& at, Stmts& out);
  levels::CursorInputs cursor_inputs(int var, int operand, const Place& at);
  /// crd[position], unpacked; of a bitmap the word there.
  Expr crd(int operand, int level, const Expr& position);
  Expr crd(const Cursor& c, const Expr& position) { return crd(c.operand, c.level, position); }
  Expr lower_bound(const Cursor& c, const Expr& begin, const Expr& end, const Expr& value, Stmts& out);
  /// Leaves out the positions whose coordinates this call is not for.
  void cut(int var, Cursor& c, const Place& at, Stmts& out);
  /// Of a padded level: is this slot in use?
  Expr is_used(int var, const Cursor& c, const Expr& position);
  /// Ends a padded level where its unused slots begin.
  void leave_out_unused(int var, Cursor& c, Stmts& out);
  /// Its variables, at the first position.
  void start(const Cursor& c, Stmts& out);
  /// To the coordinate of the position, where there is one.
  Stmt step(const Cursor& c);
  /// The coordinate where it stands, which must be inside.
  Expr here(const Cursor& c);
  Expr stands_at(const Cursor& c, const Expr& coordinate);
  /// Behind the coordinate where it stands, if it has it; `next` is known.
  Stmt advance(const Cursor& c);
  /// On to this coordinate, or behind it.
  void seek(const Cursor& c, const Expr& coordinate, const Cursor& driver, Stmts& out);
  /// Looks for the end of the positions with the loop's coordinate; there are none where it has not that.
  void find_next(const Cursor& c, const Expr& coordinate, Stmts& out);

  // --- held_mask.cpp ---
  bool can_hold_mask() const;
  /// The loops below the mask's row, which is spread before and wiped behind them.
  Stmt with_mask_held(const Place& at, Stmt loops);
  /// Does the mask let this coordinate through?
  Expr held_mask(const Expr& coordinate);

  // --- loops.cpp ---
  Stmt emit(int var, const Place& at);
  Stmt emit_loop(int var, const Place& at);
  Stmt every_coordinate(int var, const Place& at, std::vector<Cursor>& cursors);
  Stmt one_driver(int var, const Place& at, std::vector<Cursor>& cursors, std::size_t driver, const Set& set);
  Stmt merge(int var, const Place& at, const std::vector<Cursor>& cursors, const std::vector<int>& driving,
             const Set& set);
  Stmt merge_while(int var, Place at, std::vector<Cursor> cursors, const std::vector<int>& driving, const Set& set,
                   bool all_inside);
  /// What one cursor has left when the others are through.
  Stmt rest_of(int var, Place at, std::vector<Cursor> cursors, std::size_t which, const Set& set);
  /// The body of the loop at this coordinate, behind the test that the set demands.
  Stmt enter(int var, Place at, const Expr& coordinate, const std::vector<Cursor>& cursors, const Set& set);
  /// Is the place inside the bounds that are complete with this variable? null: there are none, or nothing to ask
  Expr inside_bounds(int var, const Place& at);
  /// The bounds that a loop over all coordinates of this variable can keep itself; true where these are all of them.
  bool keep_bounds(int var, const Place& at, Expr& first, Expr& last);
  /// Does a dense mask let this place through?
  Expr dense_mask(const Place& at);
  Expr holds(const Set& set, const std::vector<Cursor>& cursors) const;
  double cost(int operand) const;

  // --- chosen.cpp ---
  /// The loop over all coordinates where a factor annihilates most: the others are found first. null: there is no such
  /// factor
  Stmt chosen_coordinates(int var, const Place& at);
  /// Asks for what operands store below this place, in levels of this variable. null: nothing
  Stmt prefetch_children(int var, const Place& at);

  // --- slots.cpp ---
  /// One loop over the slots of the pattern, in place of a nest of them.
  Stmt every_slot(Place at);

  // --- panels.cpp ---
  /// The loops of each panel of rows, whose blocks are gathered in the workspace.
  Stmt every_panel(const Place& at);
  /// Where a block of the workspace has this place.
  void insert_in_block(const Place& at, const Value& value, Stmts& out);

  // --- strips.cpp ---
  void put_on_diagonal(const Place& at, const Value& value, Stmts& out);

  // --- tree.cpp ---
  Element evaluate(int node, const Place& at, Stmts& out);
  Element value_of(int node, const Place& at, Stmts& out);
  /// Computes what is complete with this variable and stands below a loop that does not change it.
  void hoist(int var, Place& at, Stmts& out);
  /// Is a factor that is complete with this variable the one that makes every product what sums start from? Then the
  /// loops inside add nothing. null: there is none
  Expr annihilated(int var, const Place& at) const;
  Expr dense_index(int operand, const Place& at);
  Element load(const Node& node, const Place& at, Stmts& out);
  /// An argument's value in the node's compute dtype; `filled`: its fill where it is absent.
  Element argument(const Node& node, std::size_t which, bool filled, const Place& at, Stmts& out);
  Value apply(const Node& n, const Value& a, const Value& b) const;
  /// What a user's multiplication makes of two values.
  Value made_of(const Node& n, const Value& a, const Value& b, Stmts& out);
  Value apply(const Node& n, const Value& a) const;
  /// What a node computed, as f16 and bf16 keep it.
  Value rounded(const Node& n, const Value& v) const;
  Value cast(const Value& v, DType from, DType to) const;
  Value combine(const Value& a, const Value& b) const;
  Value constant(const Scalar& s) const;
  /// What stands for a missing element in this dtype: where it is a type's extreme, the other type's.
  Scalar nothing(DType t) const;
  Expr is_absent(const Value& v) const;
  Value named(const std::string& stem, const Value& v, Stmts& out);

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

  // --- result.cpp ---
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
  /// Stores at this index of the buffer, or adds to what is there.
  void meet(int buffer, const Expr& index, const Value& value, Stmts& out);
  Expr places(int var);
  void put(const Place& at, const Element& e, Stmts& out);
  void append(int level, const Expr& coordinate, const Value* value, Stmts& out);
  /// The block below the last level: cleared, filled by the loops of the variables from `var` on, kept if anything
  /// came.
  void append_block(int var, const Place& at, const Expr& coordinate, Stmts& out);
  Expr block_size();
  void append_parent(int level, const Expr& coordinate, const Expr& start, Stmts& out);
  /// Where an assembled result has its next element of a level.
  Expr size(int level) const { return ir::var("n" + std::to_string(level)); }

  // --- workspace.cpp ---
  /// As append_block, into the workspace.
  void gather_block(int var, const Place& at, const Expr& coordinate, Stmts& out);
  void insert(const Expr& coordinate, const Value& value, Stmts& out);
  /// Notes in the workspace's bits that something came; says whether it is the first time.
  Expr mark(const Expr& coordinate, Stmts& out);
  Stmt drain();
  void take(const Expr& coordinate, Stmts& out);
  void take_block(const Expr& coordinate, Stmts& out);

  // --- numeric.cpp ---
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

  int buffer(BufferBinding::Kind kind, int operand, int level, const std::string& name, DType dtype,
             bool written = false, int packed_bits = 0) {
    return params_.buffer({kind, operand, 0, level}, name, dtype, packed_bits, written);
  }
  Expr scalar(ScalarBinding::Kind kind, int operand, int level, const std::string& name) {
    return params_.scalar({kind, operand, 0, level}, name);
  }
  Expr extent(int var) {
    const auto v = static_cast<std::size_t>(var);
    if (v < in_.constants.size() && in_.constants[v] > 0) return ir::int_const(in_.constants[v]);
    return scalar(ScalarBinding::extent, -1, var, letter(var) + "_extent");
  }
  static std::string letter(int var) { return compiler::index_letter(var); }
  std::string name_of_operand(int k) const;
  bool has_level(int operand, int var, const Place& at) const;
  const Operand& operand(int k) const { return in_.operands[static_cast<std::size_t>(k)]; }
  const Level& level(int operand, int level) const {
    return this->operand(operand).type.levels[static_cast<std::size_t>(level)];
  }
  LevelKind kind(int operand, int level) const { return this->level(operand, level).kind; }

  const Input& in_;
  compiler::Names names_;
  compiler::Params params_;
  compiler::Arithmetic arithmetic_, total_;  ///< of the result, and of sums in a register: these keep more digits
  std::vector<int> last_var_,
      parent_;                 ///< per node of the tree: the last variable that it depends on, -1; its parent, -1
  std::vector<int> levels_;    ///< assembled: variable of each level
  std::vector<int> tail_;      ///< assembled: variables of the dense block below the last level
  std::vector<int> level_of_;  ///< per variable: level of the result, -1
  int workspace_ = -1;         ///< variable held in the workspace
  int drained_ = -1;           ///< ... which is emptied behind the loop of this variable
  Expr first_ = ir::var("begin"), last_ = ir::var("end");  ///< coordinates of variable 0
  /// Numeric phase: do values that come to a slot note it there?
  enum class Notes : std::uint8_t { none, at_once, again /* that alone: they were added before */ };
  Notes notes_ = Notes::none;
  std::string row_begin_;    ///< numeric phase: the first slot of the row in the workspace
  bool holds_mask_ = false;  ///< the mask's row is scattered beside the workspace
  int summed_from_ = -1;     ///< from this variable on all are summed: kept in a register; -1: none
  bool inverted_ = false;    ///< a variable of the result stands inside a summed one
  bool register_open_ = false;
  /// A reduction that counts what is absent, with loops of the result inside: its own variables. -1: it has none
  /// inside.
  int counted_from_ = -1, counted_to_ = -1;
  std::vector<std::string> sums_;  ///< vectors of the innermost sum, none where it runs value by value
  std::string found_;              ///< "" where it need not be known
  std::vector<std::string> lines_;
};

}  // namespace strata::merging
