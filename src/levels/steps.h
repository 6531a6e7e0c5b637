#pragma once
// A level walked beside others: whoever is not at the least coordinate waits, so that going on is apart from looking.
#include "levels/cursor.h"

namespace strata::levels {

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
