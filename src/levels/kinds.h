#pragma once
// The table by kind: one function and one file each.
#include "levels/steps.h"

namespace strata::levels {

Cursor open_dense(const CursorInputs& in, ir::Expr parent, const Window& window);
Cursor open_compressed(const CursorInputs& in, ir::Expr parent);
Cursor open_singleton(const CursorInputs& in, ir::Expr parent);
Cursor open_range(const CursorInputs& in, ir::Expr parent, const Window& window);
Cursor open_delta(const CursorInputs& in, ir::Expr parent);
Cursor open_structured(const CursorInputs& in, ir::Expr parent);
Cursor open_padded(const CursorInputs& in, ir::Expr parent);
Cursor open_bitmap(const CursorInputs& in, ir::Expr parent);
Cursor open_registered(const CursorInputs& in, const ir::Expr& parent);

Steps steps_of_delta(const CursorInputs& in, const ir::Expr& position);
Steps steps_of_bitmap(const CursorInputs& in, const ir::Expr& parent);
Steps steps_of_registered(const CursorInputs& in, const ir::Expr& parent, const ir::Expr& position);

/// The part of [lo, lo + size) that lies in the window.
Cursor::CountedLoop counted_in_window(const CursorInputs& in, const Window& window);

}  // namespace strata::levels
