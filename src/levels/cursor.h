#pragma once
// A level, described once for every compiled use: how to walk and locate its coordinates, in loop IR.
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "ir/ir.h"
#include "strata/format.h"

namespace strata::levels {

/// What a level's code may read. All accessors take and give i64 expressions; batch offsets are already inside them.
struct CursorInputs {
  Level level;
  ir::Expr lo, size;  ///< the level's coordinate range; size is a constant where it is known
  ir::Expr extent;    ///< range: slots per parent (extent of its dimension); padded: k; structured: n
  std::function<ir::Expr(ir::Expr)> pos,
      crd;  ///< pos[i], crd[i] (packed ones unpacked; bitmap: crd is the word of u64 bits)
  std::function<std::string(std::string)> fresh;  ///< a new identifier from a stem ("p" -> "p3")
  std::string stem;                               ///< stem for this level's variables, e.g. "j"
};

struct StateVariable {
  std::string name;
  ir::Expr initial;
};

/// The children of one parent position, as code.
///
/// Counted levels set `counted`: position runs over [begin, end) by one, `enter` runs at the top of each iteration.
/// Other levels are state machines: declare `state`, run `settle`; while (valid) { enter; ...; advance; settle; }.
struct Cursor {
  struct CountedLoop {
    std::string variable;  ///< what the loop counts
    ir::Expr begin, end;
  };
  std::optional<CountedLoop> counted;
  std::vector<StateVariable> state;  ///< declared before the loop (a counted level may carry state too: delta)
  ir::Stmt before;                   ///< lets that must stand before the loop (may be null)
  ir::Stmt settle;                   ///< may be null
  ir::Expr valid;
  ir::Stmt enter;                 ///< may be null
  ir::Expr coordinate, position;  ///< valid after `enter`
  ir::Expr used;  ///< null, or: is this a slot in use? (padded: after `enter`; false ends the parent's children)
  ir::Stmt advance;

  /// Position of a coordinate that is known to lie in the level's range, for levels that find it in O(1): position, and
  /// a condition under which it is stored (null: always).
  struct Located {
    ir::Stmt before;
    ir::Expr position, present;
  };
  std::function<Located(ir::Expr coordinate)> locate;
  /// Coordinate at position q, for levels whose coordinates ascend and can be searched (null otherwise).
  std::function<ir::Expr(ir::Expr q)> at;
};

/// The window [begin, end) restricts a counted dense, range level's coordinates to a part (chunks, slices); null:
/// everything.
struct Window {
  ir::Expr begin, end;
};

Cursor open(const CursorInputs& in, ir::Expr parent_position, const Window& window = {});

}  // namespace strata::levels
