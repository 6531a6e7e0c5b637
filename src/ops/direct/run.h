#pragma once
// A unit at work: operands in loop order, one kernel over chunks of the outermost index.
#include <algorithm>
#include <memory>

#include "base/checked.h"
#include "execute/assembly.h"
#include "ops/direct/kernels.h"
#include "ops/direct/unit.h"

namespace strata::direct {

using i64 = std::int64_t;

class Run {
 public:
  Run(const Unit& unit, const Order& order) : u_(unit), o_(order) {}
  /// The loops that would run, and what stands before and behind them.
  std::string describe(const Format& wanted, bool code);
  /// The kernel as a C file for an expression that is written so.
  std::string emit(const std::string& expression);
  std::optional<Tensor> run();
  /// A tensor like this one, with the values and the fill of the result.
  Tensor with_values(const Tensor& pattern, Buffer values) const;

 private:
  std::string meaning(const BufferBinding& b, const merging::Lowered& lowered) const;
  std::string meaning(const ScalarBinding& s) const;
  const std::string& name_of_variable(int v) const {
    return u_.names[static_cast<std::size_t>(o_.indices[static_cast<std::size_t>(v)])];
  }

  // --- what the kernel sees ----------------------------------------------------------------------------------------
  void prepare();
  bool counts_dense_alone(int index) const;  ///< does no sparse operand have this index?
  Tensor stored(std::size_t k) const;

  // --- chunks ------------------------------------------------------------------------------------------------------
  /// First position of the outermost level whose coordinate is at least x.
  static i64 first_position(const Part& part, i64 x);
  /// Stored elements before outermost coordinate x.
  static i64 stored_before(const Part& part, i64 x) { return stored_before(part, x, part.levels.size()); }
  /// Positions of the first so many levels before it.
  static i64 stored_before(const Part& part, i64 x, std::size_t levels);

  bool cuts(std::size_t k) const { return !input_.operands[k].dense && input_.operands[k].vars[0] == 0; }
  void cut();

  i64 chunks() const { return static_cast<i64>(cuts_.size()) - 1; }

  // --- calls -------------------------------------------------------------------------------------------------------

  struct Workspace {
    Buffer values, bits[3], mask;
  };
  Workspace workspace() const;
  /// `of_slots`: per operand, values of the slots of the chunk, where input_ says each_slot.
  void call(i64 chunk, const execution::Outputs& out, std::span<const Buffer> of_slots = {}) const;

  // --- dense results -----------------------------------------------------------------------------------------------
  Tensor dense() const;
  Tensor in_pattern() const;
  Tensor by_diagonals() const;
  /// ... by one loop over its slots.
  Tensor in_slots();
  /// Do several values meet in the memory of a dense result?
  bool meets() const { return !std::is_sorted(input_.summed.begin(), input_.summed.end()); }
  /// A single number of several chunks: each makes its own, which are combined in their order.
  bool in_parts() const;
  void combine_parts(Buffer& parts) const;
  /// Where chunks add to the same places: how many of them have results of their own.
  i64 partials() const;
  /// About which part of the outermost index a dense factor leaves: 1 where none annihilates.
  double chosen_share() const;
  /// The first of several results of n values becomes what all of them make.
  void combine_partials(Buffer& results, i64 n) const;

  // --- assembled results -------------------------------------------------------------------------------------------

  std::size_t levels() const { return kernel_->lowered.levels.size(); }
  i64 level_extent(std::size_t l) const { return extents_[static_cast<std::size_t>(kernel_->lowered.levels[l])]; }
  /// Coordinates of the result's first level: panels, where it is in blocks.
  i64 top_extent() const { return o_.blocks ? ceil_div(extents_[0], o_.blocks.rows) : extents_[0]; }
  /// Where the rows of a panel begin.
  i64 row_of(i64 top) const { return o_.blocks ? std::min(top * o_.blocks.rows, extents_[0]) : top; }
  /// Values below one element of the last level.
  i64 block() const {
    if (o_.blocks) return o_.blocks.size();
    i64 out = 1;
    for (int v : kernel_->lowered.tail) out *= extents_[static_cast<std::size_t>(v)];
    return out;
  }
  /// How many elements the tree may have between two coordinates of the outermost index; a guess where indices of the
  /// result are not among an operand's.
  double expected(int node, i64 begin, i64 end) const;
  double expected_of(std::size_t k, i64 begin, i64 end) const;
  std::vector<i64> first_capacity(i64 begin, i64 end) const;
  /// An operand that must be present, whose outer levels are those of the result: no more comes than it has there. -1:
  /// none
  int bounding() const;
  bool needs(int node, int operand) const;
  execution::Assembly assembly() const;
  Tensor assembled() const;

  Shape shape() const;
  /// Levels in the order of the loops; behind so many of them a dense tail.
  Format format(std::size_t levels) const;

  const Unit& u_;
  const Order& o_;
  merging::Input input_;
  std::vector<Tensor> tensors_;
  std::vector<i64> extents_, bounds_;  ///< per variable; per bound
  std::shared_ptr<const Kernel> kernel_;
  std::vector<i64> cuts_;
};

}  // namespace strata::direct
