#pragma once
// A unit in one order of loops: operands stored for it, the kernel they get, and the job that runs it. What is decided
// here is carried out by execute/job.h.
#include <algorithm>
#include <memory>

#include "base/checked.h"
#include "execute/job.h"
#include "plan/nest/fit.h"

namespace strata::direct {

using i64 = std::int64_t;

/// A tensor like this one, with the values and the fill of the unit's result.
Tensor with_values(const Unit& unit, const Tensor& pattern, Buffer values);

/// The loops, and what stands before and behind them.
class LoopNest {
 public:
  /// Over operands that are what the unit's accesses will be.
  LoopNest(const Unit& unit, const Order& order)
      : LoopNest(unit, order, std::make_shared<const FittedNest>(unit, order)) {}
  std::string describe(const Format& wanted, bool code) const;
  /// The kernel as a C file for an expression that is written so.
  std::string emit(const std::string& expression) const;
  /// Why there is no numeric phase over results of this format; "" where there is one.
  std::string no_numeric_phase(const Format& wanted) const;

 protected:
  LoopNest(const Unit& unit, const Order& order, std::shared_ptr<const FittedNest> fitted)
      : u_(unit), o_(order), fitted_(std::move(fitted)) {}

  const merging::Input& input() const { return fitted_->input; }
  const std::vector<StoredOperand>& stored() const { return fitted_->stored; }
  const std::vector<i64>& extents() const { return fitted_->extents; }
  const std::vector<i64>& bounds() const { return fitted_->bounds; }

  /// Variables of the levels of an assembled result, without its dense tail.
  std::vector<int> result_variables() const;
  /// Do several values meet in the memory of a dense result?
  bool meets() const { return !std::ranges::is_sorted(input().summed); }
  /// Is a summed extent 0?
  bool sums_nothing() const;
  /// Is every place of a dense result the sum of one run of the inner loops, which stores it whatever comes?
  bool sums_everywhere() const;
  /// Levels in the order of the loops; behind so many of them a dense tail.
  Format format(std::size_t levels) const;

  const Unit& u_;
  const Order& o_;
  std::shared_ptr<const FittedNest> fitted_;
};

class Run : LoopNest {
 public:
  /// Brings operands into loop order.
  Run(const Unit& unit, const Order& order, std::span<const Tensor> operands);
  /// Nothing where there are more diagonals than was planned for, or what were taken for twins store other elements.
  std::optional<Tensor> run();
  /// The values of a result in a pattern, or of a dense one, in this memory, joined to beta times what it holds: 0
  /// never reads it.
  std::optional<Tensor> run_into(Buffer memory, const Scalar& beta);
  /// The numeric phase alone, over the pattern of an earlier result. Nothing there too, and where the result has not
  /// this pattern.
  std::optional<Tensor> run_in_pattern_of(const Tensor& earlier);
  /// A main() that calls a kernel for this order, emitted as function `name`, on these operands.
  std::string emit_main(const BoundFunction& kernel, const std::string& name, const Tensor& expected) const;

 private:
  Run(const Unit& unit, const Order& order, std::vector<Tensor> stored);
  static std::vector<Tensor> in_loop_order(const Unit& unit, const Order& order, std::span<const Tensor> operands);

  // --- chunks ------------------------------------------------------------------------------------------------------
  /// First position of the outermost level whose coordinate is at least x.
  static i64 first_position(const Part& part, i64 x);
  /// StoredOperand elements before outermost coordinate x.
  static i64 stored_before(const Part& part, i64 x) { return stored_before(part, x, part.levels.size()); }
  /// Positions of the first so many levels before it.
  static i64 stored_before(const Part& part, i64 x, std::size_t levels);
  /// Values of a result in this pattern.
  i64 slots_of_result(const Tensor& pattern) const;
  /// Is the outermost loop over this sparse operand's first level?
  bool is_cut(std::size_t k) const { return !input().operands[k].dense && input().operands[k].vars[0] == 0; }
  /// Visits of the innermost body, each of them of the usual cost.
  double visits_of_usual_cost() const;
  i64 work() const;
  /// `partials`: so many results of their own. Chunks of one of them, which add to the same places, go in turn.
  std::vector<i64> cut(i64 partials) const;
  bool add_to_the_same() const { return input().summed[0] && !in_parts(); }
  /// The same where the second loop is cut as well: a chunk for a part of it, at one coordinate of the first.
  void cut_twice(execution::Job& job) const;
  /// The same of the tile: chunks of a part of it add to the same places. How many these are
  i64 cut_tile(execution::Job& job) const;

  /// Which chunks go one after the other: rows are computed alone, so that may follow the threads.
  static std::vector<i64> shares(i64 chunks);

  // --- jobs --------------------------------------------------------------------------------------------------------
  /// `onto`: the values that those of a pattern are joined to, or the memory of a dense result; none: fresh ones.
  execution::Job job(std::optional<Buffer> onto = {}) const;
  execution::DenseResult dense(bool apart, std::optional<Buffer> onto) const;
  execution::AssembledResult assembled(const std::vector<i64>& starts) const;
  execution::NumericResult numeric(const std::vector<i64>& starts) const;
  /// A single number of several chunks: each makes its own.
  bool in_parts() const { return u_.output.empty() && !u_.others && u_.combine != merging::Combine::first; }
  /// Where chunks add to the same places: how many of them have results of their own.
  i64 partials() const;
  /// About which part of the outermost index a dense factor leaves: 1 where none annihilates.
  double chosen_share() const;

  // --- assembled results -------------------------------------------------------------------------------------------
  std::size_t levels() const { return kernel().lowered.levels.size(); }
  i64 level_extent(std::size_t l) const { return extents()[static_cast<std::size_t>(kernel().lowered.levels[l])]; }
  /// Coordinates of the result's first level: panels, where it is in blocks.
  i64 top_extent() const { return o_.blocks ? ceil_div(extents()[0], o_.blocks.rows) : extents()[0]; }
  /// Where the rows of a panel begin.
  i64 row_of(i64 top) const { return o_.blocks ? std::min(top * o_.blocks.rows, extents()[0]) : top; }
  /// Values below one element of the last level.
  i64 block() const;
  /// How many elements the tree may have between two coordinates of the outermost index; a guess where indices of the
  /// result are not among an operand's.
  double expected(int node, i64 begin, i64 end) const;
  double expected_of(std::size_t k, i64 begin, i64 end) const;
  std::vector<i64> first_capacity(i64 begin, i64 end) const;
  /// An operand that must be present, whose outer levels are those of the result: no more comes than it has there. -1:
  /// none
  int bounding() const;
  bool needs(int node, int operand) const;

  /// Do operands that were taken for twins store the same elements?
  bool has_twins() const;
  const NestKernel& kernel() const { return *fitted_->kernel; }
  Shape shape() const;
  Tensor dense_result(Buffer values) const;

  std::vector<Tensor> tensors_;
  double visits_;               ///< about how often the innermost body runs
  std::vector<i64> diagonals_;  ///< of the result, where it is strips of them
};

}  // namespace strata::direct
