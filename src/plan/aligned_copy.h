#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "strata/tensor.h"

namespace strata::planning {

/// A copy of a dense operand, whose rows the stored elements of a driver choose, to the start of a cache line, where it
/// stands elsewhere (as NumPy's large arrays do): a row that straddles takes a line more (SpMM and MTTKRP with 16 to 64
/// columns take 15 to 35 % longer, measured). When it pays is known from types.
struct AlignedCopy {
  static constexpr std::int64_t never = INT64_MAX;
  std::int64_t worth = never;      ///< stored elements from which on it pays
  std::int64_t scattered = never;  ///< the same where rows are chosen in no order,
  int chooser = -1;                ///< by this level of the driver
  bool small = false;              ///< a core's caches hold it: each core fetches what others have copied

  /// Does it pay for these tensors, where a row is read for each of so many elements?
  bool pays(const Tensor& dense, const Tensor& driver, std::int64_t elements) const;
  /// For explain(): what is done, and from when on.
  std::string text(const std::string& driver) const;
};

/// Of an operand with these indices beside a driver with `own`; nothing where rows do not fill whole vectors, or no
/// copy is worth it.
std::optional<AlignedCopy> aligned_copy_of(const TensorType& dense, const std::vector<int>& indices,
                                           const TensorType& driver, const std::vector<int>& own);
Tensor aligned_copy(const Tensor& t);

}  // namespace strata::planning
