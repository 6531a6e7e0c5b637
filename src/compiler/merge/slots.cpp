// A value for each slot of a pattern: short rows are all about their ends, which one loop over all slots does not have.
#include "compiler/merge/nest.h"

namespace strata::merging {

Stmt Nest::every_slot(Place at) {
  const Expr slot = ir::var(names_.fresh("slot"));
  for (std::size_t k = 0; k < in_.operands.size(); ++k)
    if (!in_.operands[k].dense)
      at.position[k] = in_.operands[k].each_slot ? slot - ir::var("begin") : slot;  // a dense one is a number
  lines_.push_back("one loop over the slots of " + name_of_operand(in_.pattern));
  return ir::loop(slot->name, ir::var("begin"), ir::var("end"), leaf(at));
}

}  // namespace strata::merging
