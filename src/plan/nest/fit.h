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

struct FittedNest {
  /// Of operands that are what the unit's accesses are expected to be.
  FittedNest(const Unit& unit, const Order& order);
  /// Of these, stored in the order of the loops.
  FittedNest(const Unit& unit, const Order& order, std::span<const Tensor> operands, RowOrder rows, bool long_rows);

  /// Would the same be made for these operands now, whose pattern has its rows in this order?
  bool fits(std::span<const Tensor> operands, RowOrder now, bool long_now) const;

  merging::Input input;
  std::vector<StoredOperand> stored;
  std::vector<std::int64_t> extents, bounds;           ///< per variable; per bound
  std::shared_ptr<const NestKernel> kernel = nullptr;  ///< once there is one
  RowOrder rows = RowOrder::any;
  bool long_rows = false;  ///< so many elements meet at one place that sums in registers keep more digits
  planning::Epoch epoch = planning::Epoch::now();  ///< when this was made
};

/// What was made last for the order, if it fits these operands; otherwise new.
std::shared_ptr<const FittedNest> fitted(const Unit& unit, const Order& order, std::span<const Tensor> operands);
/// The same with its kernel, which is made where it has none.
std::shared_ptr<const FittedNest> with_kernel(std::shared_ptr<const FittedNest> nest, const Order& order);

}  // namespace strata::direct
