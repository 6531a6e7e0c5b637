#pragma once
// In which order the rows of a pattern choose rows of dense operands: what that changes, and how it is found.
#include "base/row_order.h"
#include "plan/nest/unit.h"

namespace strata::direct {

/// For what types and extents say of sums in the slots of a matrix by rows.
RowsInOrder rows_in_order(const Unit& unit, const Order& order);
/// Of the operand whose pattern the result has, by a sample of its rows.
RowOrder order_of(const RowsInOrder& rows, const Tensor& pattern);
/// How rows are prefetched then.
merging::RowPrefetch prefetch_in_order(const RowsInOrder& rows, RowOrder order);

/// How far behind a row's own number lies the row to ask for, in a matrix whose rows follow a diagonal.
std::int64_t lead_of(const Part& part);

}  // namespace strata::direct
