#pragma once
// Places in the nest, and the levels of operands walked there.
#include <algorithm>
#include <functional>
#include <map>
#include <optional>

#include "compiler/iteration.h"
#include "compiler/params.h"
#include "compiler/pieces.h"
#include "compiler/value.h"
#include "expr/index_letter.h"
#include "levels/cursor.h"

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
  Expr passes;                          ///< does the mask let the value through, where no jump has asked? null: it does
  std::vector<compiler::Group> groups;  ///< inside the loop over the tile: of its piece
  compiler::Group group;                ///< ... which of them values are for
  std::vector<std::vector<std::optional<Element>>> known_of_group =
      {};  ///< per group: what is known of it in front of the loops inside
  std::vector<std::vector<Expr>> held =
      {};                           ///< places of a block that are summed at once: coordinates of its variables
  int chain = 0;                    ///< which of the totals takes the value, or which of these slots:
  int slots = 1;                    ///< so many of a pattern whose sums run side by side
  std::vector<Expr> in_block = {};  ///< ... which stand in a block: coordinates of the next variable that it takes
  int row = 0, rows = 1;            ///< which of so many identical rows of the pattern
  bool whole = false;               ///< all of a block lies inside the bounds
  bool singly = false;              ///< slots of a block are taken one by one
  /// This is known here too.
  void learn(const std::vector<std::optional<Element>>& more) {
    for (std::size_t n = 0; n < known.size(); ++n)
      if (more[n]) known[n] = more[n];
  }
};

/// The function under construction: its parameters, and how the levels of its operands are walked.
class Cursors {
 protected:
  explicit Cursors(const Input& input) : in_(input), params_(names_) {}
  ~Cursors() = default;

  /// The children of one position of a level that has not all coordinates.
  struct Fiber {
    int operand = -1, level = 0;
    std::string p;  ///< the variable that counts
    Expr begin, end;
    Expr has;          ///< does it stand at the loop's coordinate? null: certainly
    std::string next;  ///< first position with another coordinate, known inside the loop; "": every one has another
    bool has_unused = false;  ///< of a padded level, up to the last slot: the unused ones are still to be left out
    std::optional<levels::Steps> steps;  ///< how to get from one coordinate to the next, where no array has them
    Expr origin;                         ///< with steps: the parent's first position, where that is not `begin`
    std::int64_t few = 0;  ///< it has always so many children, few enough for a copy of what is done with each; 0: not
  };

  Fiber open(int var, int operand, const Place& at, Stmts& out);
  /// Of a level whose parents all have as many: how many slots. null: of another
  Expr slots_of(const levels::CursorInputs& in, int operand, int level);
  levels::CursorInputs cursor_inputs(int var, int operand, const Place& at);
  /// pos[position], a number.
  Expr pos(int operand, int level, const Expr& position);
  /// A place in the arrays of the batch that this operand is in.
  Expr in_batch(ScalarBinding::Kind stride, int operand, int level, const Expr& position);
  /// Where the operand's value stands.
  Expr slot(int operand, const Place& at);
  /// crd[position], unpacked; of a bitmap the word there.
  Expr crd(int operand, int level, const Expr& position);
  Expr crd(const Fiber& c, const Expr& position) { return crd(c.operand, c.level, position); }
  Expr lower_bound(const Fiber& c, const Expr& begin, const Expr& end, const Expr& value, Stmts& out);
  /// Leaves out the positions whose coordinates this call is not for.
  void cut(int var, Fiber& c, const Place& at, Stmts& out);
  /// Of a padded level: is this slot in use?
  Expr is_used(int var, const Fiber& c, const Expr& position);
  /// Ends a padded level where its unused slots begin.
  void leave_out_unused(int var, Fiber& c, Stmts& out);
  /// Its variables, at the first position.
  void start(const Fiber& c, Stmts& out);
  /// To the coordinate of the position, where there is one.
  Stmt step(const Fiber& c);
  /// The coordinate where it stands, which must be inside.
  Expr here(const Fiber& c);
  Expr stands_at(const Fiber& c, const Expr& coordinate);
  /// Behind the coordinate where it stands, if it has it; `next` is known.
  Stmt advance(const Fiber& c);
  /// On to this coordinate, or behind it.
  void seek(const Fiber& c, const Expr& coordinate, const Fiber& driver, Stmts& out);
  /// Looks for the end of the positions with the loop's coordinate; there are none where it has not that.
  void find_next(const Fiber& c, const Expr& coordinate, Stmts& out);
  /// Is this the variable of a level that a cursor walks last of all?
  bool is_walked_last(int var) const;
  /// How many children it has there, about.
  double cost(int operand) const;

  int buffer(BufferBinding::Kind kind, int operand, int level, const std::string& name, DType dtype,
             bool written = false, int packed_bits = 0) {
    return params_.buffer({kind, operand, level}, name, dtype, packed_bits, written);
  }
  Expr scalar(ScalarBinding::Kind kind, int operand, int level, const std::string& name) {
    return params_.scalar({kind, operand, level}, name);
  }
  /// The extent that the kernel is made for, or 0.
  std::int64_t constant_extent(int var) const {
    const auto v = static_cast<std::size_t>(var);
    return v < in_.constants.size() ? in_.constants[v] : 0;
  }
  Expr extent(int var) {
    if (const auto n = constant_extent(var); n > 0) return ir::int_const(n);
    return scalar(ScalarBinding::extent, -1, var, letter(var) + "_extent");
  }
  static std::string letter(int var) { return index_letter(var); }
  std::string name_of_operand(int k) const;
  const Operand& operand(int k) const { return in_.operands[static_cast<std::size_t>(k)]; }
  const Level& level(int operand, int level) const {
    return this->operand(operand).type.levels[static_cast<std::size_t>(level)];
  }
  LevelKind kind(int operand, int level) const { return this->level(operand, level).kind; }

  const Input& in_;
  compiler::Names names_;
  compiler::Params params_;
  /// The coordinates of a variable that this call is for.
  Expr first_of(int var);
  Expr last_of(int var);
  bool is_cut(int var) const { return var == 0 || var == in_.also_cut; }

  Expr first_ = ir::var("begin"), last_ = ir::var("end");  ///< ... of variable 0
  std::map<int, Expr> batch_;                              ///< per operand that has batches: the present one
  std::map<int, Expr> end_of_top_;                         ///< per operand: where this call ends in its first level
};

}  // namespace strata::merging
