#pragma once
#include <vector>

#include "format/recognise.h"
#include "strata/tensor.h"

namespace strata::planning {

/// The index, of those of an operand's dimensions, whose coordinates this level of it stores one by one: they choose
/// rows of other operands. -1 where it stores none.
inline int chosen_by(const TensorType& operand, const std::vector<int>& indices, int level) {
  const Format& f = operand.format;
  const LevelKind kind = f.level(level).kind;
  const int dim = plain_dim(f, level);
  return dim >= 0 && (kind == LevelKind::compressed || kind == LevelKind::singleton)
             ? indices[static_cast<std::size_t>(dim)]
             : -1;
}

}  // namespace strata::planning
