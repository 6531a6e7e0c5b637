#pragma once
// One nest of loops, ready to run: indices cut, unit made, order chosen.
#include <span>

#include "plan/nest/blocks.h"

namespace strata::direct {

struct Loops {
  std::vector<Blocked> cuts;     ///< one after the other
  std::vector<int> turned = {};  ///< of a dense result: its dimension d is dimension turned[d] of what the loops make,
  std::string column = {};       ///< ... which has this index last; dense operands are copies that lie along it
  Assignment assignment;
  Unit unit;
  Order order;
  Format format;  ///< that the loops are to build
  struct SparseAccess {
    Lazy tensor;
    std::vector<char> in_output;  ///< per dimension
  };
  /// The same loops with wider sums, and who may need them.
  struct WideSums {
    Unit unit;
    Order order;
    std::vector<SparseAccess> sparse;
  };
  std::shared_ptr<const WideSums> wide = {};  ///< for operands that have long rows; null: sums are as wide as they get
  /// It, where these need it.
  const WideSums* wider_for(std::span<const Tensor> inputs) const;

  /// Is there an index in place of which loops run over others?
  bool is_cut() const;
  std::string describe(bool code = false) const;
  /// The kernel as a C file.
  std::string emit() const;
  /// How many coordinates each index must have for that text.
  std::int64_t least_extent() const;
  /// A main() for that file, which calls its function, `name`, on inputs of `tiny`: loops of the same expression over
  /// operands of the same formats. Unsupported: a result that is not dense, values that C has no plain type for.
  std::string emit_main(const Loops& tiny, std::span<const Tensor> inputs, const std::string& name,
                        const Tensor& expected) const;
  /// The operands of its accesses, and what may need wider sums.
  std::vector<Lazy> inputs() const;
  std::size_t num_inputs() const { return unit.accesses.size() + (wide ? wide->sparse.size() : 0); }
  std::span<const Tensor> of_accesses(std::span<const Tensor> inputs) const {
    return inputs.first(unit.accesses.size());
  }
  /// The result over whole indices. Nothing where run_unit() says nothing.
  std::optional<Tensor> run(std::span<const Tensor> inputs, const Format& wanted, std::optional<DType> dtype) const;
  /// A dense result, as it goes to a destination that has its type, with factor 1. Nothing elsewhere.
  std::optional<Tensor> deliver(std::span<const Tensor> inputs, const planning::Destination& to,
                                std::optional<DType> dtype) const;
  /// The numeric phase of such a run. Nothing where run_unit_in_pattern_of() says nothing.
  std::optional<Tensor> run_in_pattern_of(const Tensor& earlier, std::span<const Tensor> inputs,
                                          std::optional<DType> dtype) const;
  std::string no_numeric_phase(const Format& wanted) const;
  Shape shape() const;
  /// What run() makes, and about how many elements it has.
  TensorType type(const Format& wanted, std::optional<DType> dtype) const;
  planning::Stats stats(const TensorType& type) const;
  /// Of the result, about and at most: what is visited, but once where sums run over dense operands alone.
  double elements() const;
  /// Whose arrays but for the values the result has; null: it has its own.
  const Lazy* source(const Format& wanted) const;
  /// Whose pattern it has.
  const Lazy* pattern(const Format& wanted) const;
};

/// Cuts the blocks that operands have after `cuts`.
void cut_blocks(const NestProblem& problem, std::vector<Blocked>& cuts);
/// Nothing where it cannot be done, and `why`. `cuts` have been made of the problem, down to the last block.
/// `strips`: may the result be gathered by diagonals? `turns`: may the loops make another order of its dimensions?
std::optional<Loops> make_loops(const NestProblem& problem, std::vector<Blocked> cuts, std::string& why,
                                bool strips = true);
std::optional<Loops> make_loops(const NestProblem& problem, std::string& why, bool strips = true, bool turns = true);

/// These loops as a step; `otherwise` where they cannot run. `title` stands before the assignment, `before` before the
/// loops, in what is shown of them.
Lazy as_step(std::shared_ptr<const Loops> loops, const Format& wanted, std::optional<DType> dtype,
             std::function<Lazy()> otherwise, const std::string& title, const std::string& before = "");

}  // namespace strata::direct
