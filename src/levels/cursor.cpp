#include "levels/cursor.h"

#include "format/registered_levels.h"
#include "levels/kinds.h"

namespace strata::levels {

bool has_steps(LevelKind kind) { return kind == LevelKind::delta || kind == LevelKind::bitmap || is_registered(kind); }

std::optional<Steps> steps(const CursorInputs& in, const ir::Expr& parent, const ir::Expr& position) {
  if (is_registered(in.level.kind)) return steps_of_registered(in, parent, position);
  switch (in.level.kind) {
    case LevelKind::delta: return steps_of_delta(in, position);
    case LevelKind::bitmap: return steps_of_bitmap(in, parent);
    default: return std::nullopt;
  }
}

}  // namespace strata::levels
