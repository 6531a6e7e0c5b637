#pragma once
// The iteration graph: which levels the driver has, when each index becomes known on the way down, and how the address
// of every dense operand follows from level coordinates and free indices. Facts only; nothing is decided here.
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "compiler/lower.h"

namespace strata::compiler {

using StrideKind = TensorType::Stride;

/// One level of the driver below its batches. Levels are numbered from 0, batch levels have gone before.
struct LevelFacts {
  Level level;
  int number = 0;                  ///< in the format, as the bindings count
  std::int64_t constant_size = 0;  ///< e % n; otherwise 0
  LevelRange range;                ///< of this shape: for facts, never printed into the text
  bool starts_at_zero = false;     ///< lo is 0 whatever the shape
  int packed_bits = 0;
  std::string stem;  ///< for variables: "j", "jb" (a quotient), "jj" (a remainder), "d" (a skew)
  bool contiguous() const { return level.kind == LevelKind::dense || level.kind == LevelKind::range; }
};

/// One dimension of the driver: an affine function of level coordinates. Behind the dimensions stand remainders that
/// only a skew gives back
/// (`i % 4 - j`): they too must lie in their range, or the slot would name another slot's element.
struct DimFacts {
  std::int64_t remainder_of = 0;  ///< n: a remainder in [0, n), not a dimension
  int index = -1;  ///< of the einsum; -1: extent 1 that broadcasts (its coordinate is 0 and binds nothing)
  std::vector<std::int64_t> level_scale;    ///< per level: coefficient
  std::vector<std::int64_t> batch_scale;    ///< per batch level
  int completes = -1;                       ///< the level after which it is known; -1: before the first
  bool below_zero = false, beyond = false;  ///< may the formula leave [0, extent) for coordinates in range?
  bool exact() const { return !below_zero && !beyond; }
};

/// One summand of a dense address: stride * coordinate of an einsum index.
struct AddressTerm {
  int index = -1;
  int level = -1;  ///< level of the operand's format (output: dimension): the stride's binding
  StrideKind kind = StrideKind::general;
};

/// A dense operand or the output (operand -1).
struct DenseAccess {
  int operand = -1;
  std::vector<AddressTerm> terms;  ///< levels that are a plain dimension
  std::vector<int>
      late_levels;  ///< levels that are not (a blocked dense tensor): added once their dimensions are known
};

struct Graph {
  const LowerInput* input = nullptr;
  Format format;  ///< of the driver's part
  bool dense_driver = false;
  std::vector<LevelFacts> batches, levels;
  std::vector<DimFacts> dims;
  std::vector<std::int64_t> extents;    ///< of the einsum's indices, for facts
  std::vector<int> dim_of_index;        ///< the driver's dimension that makes an index known (the first); -1: free
  std::vector<DenseAccess> dense;       ///< all operands but a sparse driver (in operand order), then the output
  std::vector<int> free_out, free_sum;  ///< free indices in the output (in its order), and the others

  int num_levels() const { return static_cast<int>(levels.size()); }
  const DenseAccess& output() const { return dense.back(); }
  bool in_output(int index) const;
  const TensorType& type(int operand) const {
    return operand < 0 ? input->output : input->operands[static_cast<std::size_t>(operand)];
  }
  const TensorType& driver_type() const { return type(input->driver); }
  std::vector<int> indices(int operand) const;  ///< per dimension
  /// Is level l a leaf of `index`'s dimension by splits alone (so that different coordinates mean different indices)?
  bool determines(int l, int index) const;
  std::string to_string() const;
};

/// Builds the graph, or says why this einsum cannot be lowered.
std::optional<Graph> make_graph(const LowerInput& input, std::string& why);

/// "i", "j", ... by number: identifiers in emitted text are ours only.
std::string index_letter(int index);

}  // namespace strata::compiler
