#pragma once
// The loops of a unit over operands that are stored in some way: what their kernel's text depends on. Calls share them.
#include <memory>
#include <span>

#include "base/row_order.h"
#include "plan/epoch.h"
#include "plan/nest/kernels.h"
#include "plan/nest/unit.h"

namespace strata::direct {

/// What loops see of an operand as it is stored for them.
struct StoredOperand {
  TensorType type;
  std::vector<std::int64_t> strides;  ///< of a dense one, per level
  std::vector<double> positions;      ///< of another: per level
};

/// What a kernel's text depends on beside how operands are stored.
struct TextVariant {
  RowOrder rows = RowOrder::any;  ///< of the pattern
  bool long_rows = false;         ///< so many elements meet at one place that sums in registers keep more digits
  bool any_columns = false;       ///< extents of dense operands are left out of the text where it can do without
  bool operator==(const TextVariant&) const = default;
};

/// A dense result but for its memory.
struct EmptyResult {
  TensorType type;
  Part part;
  std::int64_t size = 0;              ///< elements; -1: more than there are numbers
  std::vector<std::int64_t> strides;  ///< per variable
};

struct FittedNest {
  /// Of operands that are what the unit's accesses are expected to be.
  FittedNest(const Unit& unit, const Order& order, TextVariant variant = {});
  /// Of these, stored in the order of the loops.
  FittedNest(const Unit& unit, const Order& order, std::span<const Tensor> operands, TextVariant variant);
  /// The same as another one, in another variant.
  FittedNest(const Unit& unit, const Order& order, const FittedNest& other, TextVariant variant);

  /// Would the same be made for these operands now?
  bool fits(std::span<const Tensor> operands, TextVariant now) const;
  /// How many coordinates the index of its tile must have: the last of a row's vectors takes what others have had,
  /// where there is a whole one. 1 where the text has an extent of its own, or no tile.
  std::int64_t least_extent() const {
    return input.tile >= 0 && input.constants[static_cast<std::size_t>(input.tile)] == 0 ? input.lanes : 1;
  }

  merging::Input input = {};
  std::vector<StoredOperand> stored;
  std::vector<std::int64_t> extents = {}, bounds = {};  ///< per variable; per bound
  std::optional<EmptyResult> dense = {};                ///< where that is what it makes
  std::int64_t columns = 0;                             ///< that stand in the text, and need not; 0: none do
  std::shared_ptr<const NestKernel> kernel = nullptr;   ///< once there is one
  TextVariant variant;
  planning::Epoch epoch = planning::Epoch::now();  ///< when this was made
};

/// What was made last for the order, if it fits these operands; otherwise new.
std::shared_ptr<const FittedNest> fitted(const Unit& unit, const Order& order, std::span<const Tensor> operands);
/// The same with its kernel, which is made where it has none. Where nothing compiles, or little would be gained by it,
/// that is one for any number of columns, if it was compiled ahead of time: a first call need not wait.
std::shared_ptr<const FittedNest> with_kernel(std::shared_ptr<const FittedNest> nest, const Unit& unit,
                                              const Order& order);
/// For explain(): is its kernel there, and what makes it otherwise.
std::string how_it_runs(const FittedNest& nest, const Unit& unit, const Order& order);

}  // namespace strata::direct
