#pragma once
#include "ir/ir.h"

namespace strata {

/// The same kernel with less text: constants and copies are put in place of the names that hold them, what then folds
/// is folded, and variables that nobody reads, empty loops and empty branches go. No computation is moved.
ir::Function simplify(const ir::Function& f);

}  // namespace strata
