#pragma once
// The table of steps by kind: one function and one file each.
#include "levels/cursor.h"

namespace strata::levels {

Steps steps_of_delta(const CursorInputs& in, const ir::Expr& position);
Steps steps_of_bitmap(const CursorInputs& in, const ir::Expr& parent);
Steps steps_of_registered(const CursorInputs& in, const ir::Expr& parent, const ir::Expr& position);

}  // namespace strata::levels
