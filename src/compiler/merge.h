#pragma once
// Lowering of an elementwise tree over several sparse operands, summed over some indices: one nest that walks them
// together.
//
// Loop variables are numbered from the outside in. Every sparse operand is stored in loop order, in levels whose
// coordinates ascend (see cursors.cpp); whoever calls has converted what was not. A loop iterates over what its
// operands store: where all must be present one drives and the others seek, where any may be, the least coordinate is
// next.
#include <algorithm>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "compiler/binding.h"
#include "strata/expression.h"

namespace strata::merging {

/// How values combine over the summed indices, and where several stand at one place.
enum class Combine : std::uint8_t { plus, minimum, maximum, either, both, first };

/// A node of the tree; children stand before their parents, the root last.
struct ElementwiseNode {
  enum Kind : std::uint8_t {
    constant,
    access,
    all,  ///< absent where one needed argument is
    any,  ///< absent where all arguments but constants are
    map   ///< of one argument, absent where that is
  } kind = constant;
  Operator op = Operator::multiply;  ///< of all, any, map
  int operand = -1;                  ///< access
  bool conjugate = false;            ///< access
  DType dtype = DType::f64;          ///< of the value
  DType compute = DType::f64;        ///< that the arguments are brought to
  Scalar value = {};     ///< constant: its value; otherwise what it counts as where it is absent. In `dtype`
  bool no_sign = false;  ///< -0.0 becomes 0.0
  std::vector<int> arguments = {};
  std::vector<char> needed = {};  ///< all: per argument; the others count with their value where they are absent
  /// all, in a user's semiring: what its two arguments make, in place of `op`; operands 0 and 1 are these.
  std::vector<ElementwiseNode> formula = {};
  bool operator==(const ElementwiseNode&) const = default;
};

/// sum of coefficient * coordinate of variable < an extent, an argument of the kernel: places beyond are stepped over.
struct Bound {
  std::vector<std::pair<int, std::int64_t>> terms;
  bool operator==(const Bound&) const = default;
};

/// The blocks of an assembled matrix, whatever its operands have: rows are gathered in panels.
struct Blocks {
  std::int64_t rows = 0, columns = 0;  ///< 0: the result is not in blocks
  bool column_major = false;
  explicit operator bool() const { return rows > 0; }
  std::int64_t size() const { return rows * columns; }
  bool operator==(const Blocks&) const = default;
};

/// A matrix by diagonals, whatever its operands have: a dense strip for each.
struct Diagonals {
  int row = -1, column = -1;   ///< variables; -1: the result is not by diagonals
  bool along_columns = false;  ///< places on a diagonal count columns, not rows
  explicit operator bool() const { return row >= 0; }
  bool operator==(const Diagonals&) const = default;
};

/// How a loop over all coordinates is written down.
enum class Hint : std::uint8_t { none, simd, unrolled };

/// What loops see of a level: not of which dimension it is, nor how many slots its rows have. Nonunique: positions that
/// follow one another may share a coordinate, and the next level tells them apart.
Level level_in_loops(const Format& f, int level);

/// What the loops depend on of how an operand is stored. (Not on its shape: one kernel serves all.)
struct Storage {
  std::vector<Level> levels = {};
  std::vector<int> packed_bits = {};  ///< per level: of a coordinate in crd, 0: it is no bit stream
  DType dtype = DType::f64, pos_dtype = DType::i32, crd_dtype = DType::i32;
  bool shared_value = false;
  int batch_levels =
      0;  ///< the first so many levels, which are dense in loops: arrays of the others have strides for them

  Storage() = default;
  Storage(const TensorType& t);  // NOLINT(google-explicit-constructor): it is a type, seen by the loops
  bool operator==(const Storage&) const = default;
};

struct Operand {
  Storage type;
  std::vector<int> vars;            ///< per level: loop variable; ascending for sparse operands
  bool dense = false;               ///< read at strides, has a value everywhere
  int contiguous = -1;              ///< dense: level whose stride is 1
  std::vector<double> fibers = {};  ///< per compressed level: children of one parent, about
  bool each_slot = false;           ///< slots: its values are those of the slots that the call is for, in their order
  int twin = -1;  ///< an operand before it that has the same variables, levels and arrays but for the values
  /// So many of its last levels are dense, of constant extents, and no loop walks them: a value is read where the
  /// coordinates of their variables say, in whatever order these come; the last of them may be the tile.
  int tail = 0;
  /// Slots with this value, in the operand's dtype, hold no element: fill-in, in a semiring.
  std::optional<Scalar> missing = {};
  bool has(int var) const { return std::ranges::find(vars, var) != vars.end(); }
  bool operator==(const Operand&) const = default;
};

/// What is computed, whatever the order of the loops.
struct Computation {
  std::vector<ElementwiseNode> nodes;
  Combine combine = Combine::plus;
  Scalar absent;      ///< in the compute dtype: the identity of `combine`
  bool ring = false;  ///< products keep `absent` what it is
  /// Of a reduction: elements that are absent count too, each with this value (compute dtype). The summed variables are
  /// then the innermost ones; of a dense result those may stand inside that no sparse operand has, if the loops outside
  /// visit all coordinates.
  std::optional<Scalar> others = {};
  DType compute = DType::f64;  ///< of sums and of the result
  Scalar fill;                 ///< of the result, in the compute dtype: what it holds where nothing is put
  int mask = -1;               ///< operand that must be present, its value unread; a dense one must not be 0
  bool complement = false;     ///< ... absent; ... must be 0
  bool operator==(const Computation&) const = default;
};

/// Rows of dense operands, along the tile or the innermost variable, that the coordinates of a sparse one choose are
/// prefetched (see rows_ahead.cpp).
struct RowPrefetch {
  int ahead = 0;              ///< so many elements; 0: none are, by element
  bool second_level = false;  ///< ... into the second level,
  int again = 0;              ///< ... and so many elements ahead into the first; 0: not
  int near = -1;              ///< ... where they are not so close to the present one; -1: all
  /// Rows of a pattern: those of dense operands that have its rows' own numbers are prefetched too; and where its rows
  /// follow a diagonal, the row that later ones are the first to choose.
  bool by_row = false, along = false;
  bool operator==(const RowPrefetch&) const = default;
};

/// A variable of a dense result, of constant extent: so many of its places at a time stay in registers.
struct HeldPlaces {
  int var = 0;
  std::int64_t piece = 0;
  bool operator==(const HeldPlaces&) const = default;
};

/// ... in one order of the loops, over operands stored for it. All that the kernel's text depends on, so that equal
/// inputs have one kernel.
struct Input : Computation {
  std::vector<Operand> operands;  ///< one per access, then the mask if there is one, then `earlier`
  int num_vars = 0;
  std::vector<char> summed;             ///< per variable
  std::vector<std::int64_t> constants;  ///< per variable: an extent that the kernel is made for, or 0
  std::vector<Hint> hints;              ///< per variable; simd: the innermost one, of the result
  std::vector<Bound> bounds;
  int lanes = 1;  ///< values of a vector, for sums over dense memory, and of a tile
  /// Dense result: the last of its variables. No sparse operand has it, and `vectors` vectors of it at a time stay in
  /// registers: sums, where all behind it are summed (see tile.cpp), and otherwise factors, where none are (see
  /// scatter.cpp). -1: none
  int tile = -1;
  int vectors = 1;
  /// Dense result: places within its blocks, one variable behind the other, behind the tile if there is one; behind
  /// them all are summed (see held.cpp).
  std::vector<HeldPlaces> held = {};
  bool lanes_of_sum =
      false;  ///< ... and the innermost variable is taken in vectors, whose lanes are added up behind it
  RowPrefetch prefetch = {};
  /// A call is for a part of the coordinates of this variable too: of 1, where the outermost loop is too short to be
  /// cut alone; or of the tile, where that is a sum and no two calls are to add to the same places. -1: none
  int also_cut = -1;
  bool identical_rows = false;  ///< rows of the pattern mostly come in blocks that share their coordinates
  /// A sum has so few that the compute dtype keeps enough of its digits; in a slot of a pattern it runs in vectors
  /// then.
  bool few_terms = false;
  bool dense_result = false;  ///< adds to strided memory, or stores where nothing is summed
  int contiguous = -1;        ///< dense result: variable whose stride is 1
  int skew = -1;        ///< dense result: a summed variable that moves the place as well; the memory has an offset then
  Diagonals diagonals;  ///< dense result: its memory is strips of diagonals
  int pattern = -1;     ///< the result has the pattern of this operand: a value in each of its slots
  bool joins = false;   ///< result in a pattern or dense: values are joined to what their places hold
  bool slots = false;   ///< ... one loop over these; operands have a value in each
  bool dense_top = false;  ///< assembled: the first level of the result is dense
  /// Assembled: so many of the result's last variables are a dense block below each element of the others.
  int dense_tail = 0;
  Blocks blocks;  ///< assembled, of two variables, no mask: rows of variable 0; `dense_top` counts panels of them
  DType crd = DType::i32;  ///< assembled: of coordinates
  /// Assembled: the numeric phase alone. This operand, the last one, is an earlier result, unread but for its pattern:
  /// values are put into its slots, and other_pattern is returned where they do not come to all of these and no others.
  int earlier = -1;
  /// Is it part of a sum that stays below a bound?
  bool is_bounded(int var) const {
    return std::ranges::any_of(bounds, [&](const Bound& b) {
      return std::ranges::any_of(b.terms, [&](const auto& term) { return term.first == var; });
    });
  }
  bool operator==(const Input&) const = default;
};

/// Status of a numeric phase: the result has another pattern.
inline constexpr int other_pattern = 1;

/// Call: begin and end cut the coordinates of variable 0, the panels of them, or the slots.
struct LoweredNest : BoundFunction {
  int workspace = -1;       ///< variable of the workspace
  bool holds_mask = false;  ///< the mask's bits stand beside it
  std::vector<int> levels;  ///< assembled: variable of each level of the result, without its dense tail
  std::vector<int> tail;    ///< ... of each level of that
  std::string text;         ///< the loops, for explain()
};

/// Can every node that depends on these operands be computed in vectors of them? Of plain numbers, in one dtype.
bool has_lanes(const Computation& input, const std::function<bool(int)>& moves);
/// Is the node a factor of the whole, whose value may make every product what sums start from? Then whoever has that
/// value adds nothing.
bool annihilates(const Input& input, int node);
/// The variable of the coordinates that choose rows which may be prefetched.
int choosing_variable(const Input& input);
/// Has the operand such rows, along the tile or the innermost variable?
bool has_chosen_rows(const Input& input, int operand);
/// Can the result be assembled in this order of loops: at most one of its variables inside a summed one? Those of its
/// dense tail count as summed.
bool can_assemble(const std::vector<char>& summed);
/// Position of the variable that needs a workspace then, or -1.
int workspace_of(const std::vector<char>& summed);
LoweredNest lower(const Input& input);

}  // namespace strata::merging
