#pragma once
// Levels in loop IR: how coordinates are found that no array has. A level is walked beside others, and whoever is not
// at the least coordinate waits: going on is apart from looking.
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
  std::function<ir::Expr(ir::Expr)> pos,
      crd;  ///< pos[i], crd[i] (packed ones unpacked; bitmap: crd is the word of u64 bits)
  std::function<std::string(std::string)> fresh;  ///< a new identifier from a stem ("p" -> "p3")
  std::string stem;                               ///< stem for this level's variables, e.g. "j"
};

struct StateVariable {
  std::string name;
  ir::Expr initial;
};

/// How to get from one coordinate of a parent's children to the next, where no array has them. Positions are
/// counted by the caller.
struct Steps {
  ir::Stmt before;                   ///< lets that must stand before the state (may be null)
  std::vector<StateVariable> state;  ///< declared with the first position
  ir::Stmt step;                     ///< to the coordinate of a position that there is: once for each, in their order
  ir::Expr coordinate;               ///< of the position that was stepped to last
};

/// Are its coordinates found one after the other, since no array has them?
bool has_steps(LevelKind kind);
/// Of delta, bitmap and registered levels, where `position` is what the caller counts; of others nothing: their
/// coordinates are read where they are wanted.
std::optional<Steps> steps(const CursorInputs& in, const ir::Expr& parent_position, const ir::Expr& position);

/// How many children each parent has, of a registered level without pos.
ir::Expr slots_in_code(const CursorInputs& in);

}  // namespace strata::levels
