#pragma once
// One nest of loops, ready to run: indices cut, unit made, order chosen.
#include <span>

#include "ops/direct/blocks.h"

namespace strata::direct {

struct Loops {
  std::vector<Blocked> cuts;  ///< one after the other
  Assignment assignment;
  Unit unit;
  Order order;
  Format format;  ///< that the loops are to build

  std::string describe(bool code = false) const;
  /// The kernel as a C file.
  std::string emit() const;
  /// The result over whole indices. Nothing where only the interpreter could run it and nobody asked for that.
  std::optional<Tensor> run(const Format& wanted, std::optional<DType> dtype) const;
};

/// Cuts the blocks that operands have after `cuts`.
void cut_blocks(const Problem& problem, std::vector<Blocked>& cuts);
/// Nothing where it cannot be done, and `why`. `cuts` have been made of the problem, down to the last block.
std::optional<Loops> make_loops(const Problem& problem, std::vector<Blocked> cuts, std::string& why);
std::optional<Loops> make_loops(const Problem& problem, std::string& why);

}  // namespace strata::direct
