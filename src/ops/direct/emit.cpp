// The kernel of a unit as a C file, with the meaning of what it is called with.
#include "compiler/emit/c_file.h"
#include "compiler/emit/emit_c.h"
#include "ops/direct/flat.h"
#include "ops/direct/run.h"

namespace strata::direct {

std::string Run::meaning(const BufferBinding& b, const merging::Lowered& lowered) const {
  const std::string level = std::to_string(b.level), above = std::to_string(b.level - 1);
  const std::string of = b.operand < 0 ? "" : " of " + u_.accesses[static_cast<std::size_t>(b.operand)].name;
  const std::string coordinates = o_.blocks ? std::to_string(o_.blocks.columns) + " coordinates" : "coordinate";
  const std::string each =
      lowered.workspace < 0 ? "" : " for each " + coordinates + " of index " + name_of_variable(lowered.workspace);
  switch (b.kind) {
    case BufferBinding::pos: return "pos of level " + level + of;
    case BufferBinding::crd: return "crd of level " + level + of;
    case BufferBinding::values: return "values" + of;
    case BufferBinding::output: return "values of the result";
    case BufferBinding::out_crd: return "crd of level " + level + " of the result";
    case BufferBinding::out_pos:
      return "ends of the children in level " + level + " of each element of level " + above + " of the result";
    case BufferBinding::out_counts: return "children of each coordinate of level 0 of the result";
    case BufferBinding::out_sizes: return "elements of each level of the result, in and out";
    case BufferBinding::out_strips: return "the strip of the result for each diagonal, from the lowest one on";
    case BufferBinding::out_met: return "0 for each strip, set where a value was put into it";
    case BufferBinding::row_values:
      return (lowered.tail.empty() && !o_.blocks ? "a value" : "a block of values") + each + ": " +
             u_.absent.to_string() + ", as it is left";
    case BufferBinding::row_bits:
      return (b.level == 0 ? "a bit" + each : "a bit for each of these before") + ", in whole words: 0, as it is left";
    default: return "a bit" + each + ", in whole words: 0, as it is left";
  }
}

std::string Run::meaning(const ScalarBinding& s) const {
  const std::string level = std::to_string(s.level);
  const std::string of = s.operand < 0 ? "" : " of " + u_.accesses[static_cast<std::size_t>(s.operand)].name;
  switch (s.kind) {
    case ScalarBinding::extent: return "extent of index " + name_of_variable(s.level);
    case ScalarBinding::bound: {
      std::string sum;
      for (const auto& [i, c] : u_.bounds[static_cast<std::size_t>(s.level)].terms)
        sum += (sum.empty() ? "" : " + ") + (c == 1 ? "" : std::to_string(c) + " * ") +
               u_.names[static_cast<std::size_t>(i)];
      return "what " + sum + " stays below";
    }
    case ScalarBinding::stride:
      return "elements between neighbours along " +
             (s.operand < 0 ? "index " + name_of_variable(s.level) + " of the result" : "level " + level + of);
    case ScalarBinding::offset: return "elements before the first one" + of;
    default: return "elements of level " + level + " of the result that there is room for";
  }
}

std::string Run::emit(const std::string& expression) const {
  const merging::Lowered lowered = merging::lower(input_);
  CFile file{.computes = expression,
             .notes = {},
             .effect = {},
             .buffers = {},
             .scalars = {},
             .range = {},
             .chunk = "any number"};
  for (std::size_t k = 0; k < tensors_.size(); ++k) {
    const Access& a = u_.accesses[k];
    const std::string line = "  " + a.name + ": " + tensors_[k].type().to_string() +
                             (o_.convert[k] ? " (first converted to that)" : "") +
                             (a.name.starts_with('#') ? ": 0, 1, 2, ..." : "");
    if (std::find(file.notes.begin(), file.notes.end(), line) == file.notes.end()) file.notes.push_back(line);
  }
  file.notes.push_back("The text holds for other extents too.");
  const std::string parts = (o_.blocks ? "a part of the runs of " + std::to_string(o_.blocks.rows) : "a part of the") +
                            std::string(" coordinates of index ") + name_of_variable(0);
  file.range = parts + (input_.summed[0] ? "; one part after the other" : "; any parts, side by side too");
  if (o_.pattern >= 0) {
    file.effect.push_back("stores a value in each slot of " + u_.accesses[static_cast<std::size_t>(o_.pattern)].name +
                          "; returns 0");
  } else if (o_.dense_result) {
    file.effect.push_back(meets() || u_.output.empty()
                              ? "adds to the result, which must hold " + u_.absent.to_string() + "; returns 0"
                              : "stores the result; returns 0");
  } else {
    file.range = parts + ", the whole or one after the other; side by side too, where each has a result of its own";
    file.effect.push_back("appends to a result of format " + format(lowered.levels.size()).to_string() + "; returns 0");
    file.effect.push_back(
        "What there is no room for is counted and not stored: make room for as many elements as there are then, set");
    file.effect.push_back("their numbers to what they were before, and call again.");
    if (input_.dense_top) file.effect.push_back("pos of level 1 of the result is the running sum of its children.");
  }
  for (const auto& b : lowered.buffers) file.buffers.push_back(meaning(b, lowered));
  for (const auto& s : lowered.scalars) file.scalars.push_back(meaning(s));
  return c_file(file, lowered.function, emit_c(lowered.function));
}

std::string emit_unit(const Unit& unit, const Order& order, const std::string& expression) {
  // Storage that loops do not walk has nothing but its slots.
  if (order.slots == Order::alone &&
      !storage_order(unit.accesses[static_cast<std::size_t>(order.pattern)].tensor.format()))
    return emit_flat(unit, order, expression);
  Order nested = order;  // who calls the text has tensors, and not their values slot by slot
  nested.slots = Order::nested;
  return Run(unit, nested).emit(expression);
}

}  // namespace strata::direct
