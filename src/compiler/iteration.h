#pragma once
// Iteration sets: over which coordinates a loop runs, as a formula over the cursors of its operands.
#include <functional>
#include <vector>

#include "compiler/merge.h"

namespace strata::merging {

/// Everything, one cursor, all of, or any of.
struct Set {
  enum Kind : std::uint8_t { everything, cursor, both, either } kind = everything;
  int operand = -1;  ///< cursor
  std::vector<Set> parts = {};
  std::string to_string(const std::function<std::string(int)>& name) const;
};

/// The set of one variable; `cursor(operand)`: whose level stands for the operand there, its own or a
/// twin's; -1 for none.
Set iteration_set(const Computation& input, const std::function<int(int)>& cursor);
/// Cursors that together meet every coordinate of the set: the smaller side of an intersection, all sides of a union.
std::vector<int> drivers(const Set& set, const std::function<double(int)>& cost);
/// Cursors that every coordinate of the set has.
std::vector<int> required(const Set& set);

}  // namespace strata::merging
