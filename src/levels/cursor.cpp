#include "levels/cursor.h"

#include "format/registered_levels.h"
#include "levels/kinds.h"
#include "strata/error.h"

namespace strata::levels {

Cursor open(const CursorInputs& in, ir::Expr parent, const Window& window) {
  if (is_registered(in.level.kind)) return open_registered(in, parent);
  switch (in.level.kind) {
    case LevelKind::dense: return open_dense(in, std::move(parent), window);
    case LevelKind::compressed: return open_compressed(in, std::move(parent));
    case LevelKind::singleton: return open_singleton(in, std::move(parent));
    case LevelKind::range: return open_range(in, std::move(parent), window);
    case LevelKind::delta: return open_delta(in, std::move(parent));
    case LevelKind::structured: return open_structured(in, std::move(parent));
    case LevelKind::padded: return open_padded(in, std::move(parent));
    case LevelKind::bitmap: return open_bitmap(in, std::move(parent));
    case LevelKind::batch: break;  // an outer loop that rebases buffers: whoever runs the kernel does that
  }
  throw InternalError("a batch level has no cursor");
}

bool has_steps(LevelKind kind) { return kind == LevelKind::delta || kind == LevelKind::bitmap || is_registered(kind); }

std::optional<Steps> steps(const CursorInputs& in, const ir::Expr& parent, const ir::Expr& position) {
  if (is_registered(in.level.kind)) return steps_of_registered(in, parent, position);
  switch (in.level.kind) {
    case LevelKind::delta: return steps_of_delta(in, position);
    case LevelKind::bitmap: return steps_of_bitmap(in, parent);
    default: return std::nullopt;
  }
}

Cursor::CountedLoop counted_in_window(const CursorInputs& in, const Window& window) {
  ir::Expr begin = in.lo, end = in.lo + in.size;
  if (window.begin)
    begin = ir::is_constant(begin, 0) && ir::is_constant(window.begin, 0) ? begin : ir::max(begin, window.begin);
  if (window.end) end = ir::min(end, window.end);
  return {in.fresh(in.stem), begin, end};
}

}  // namespace strata::levels
