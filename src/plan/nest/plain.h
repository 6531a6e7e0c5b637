#pragma once
// Accesses by plain indices alone.
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "plan/asked.h"

namespace strata::direct {

/// An assignment whose accesses have distinct plain indices of full extent, over operands that were made for it.
struct Plain {
  Assignment assignment;
  Operands operands;
};

/// A(i + r, j) becomes an access to a tensor over i, r and j: a view of dense memory, or the sparse elements once for
/// each way to write their coordinates. So do A(i, i), A(2*i, 0) and, of dense operands, an extent of 1 that is
/// stretched. Nothing, and `why`, where a sparse operand would become much larger or has a stretched extent.
std::optional<Plain> with_plain_accesses(const Assignment& a, const Operands& operands,
                                         const std::map<std::string, std::int64_t>& extents, bool drops_fill_in,
                                         std::string& why);

/// Of a dense tensor: one that has a stride per dimension.
Tensor strided(const Tensor& t);
Lazy strided(const Lazy& t);
/// ... and these, dimension by dimension.
std::vector<std::int64_t> dimension_strides(const Tensor& strided);
/// ... about
std::vector<std::int64_t> dimension_strides(const Lazy& strided);
/// Row-major levels over memory with these strides. Nothing is checked: places that nobody reads may lie outside.
Tensor dense_view(const Buffer& values, const Shape& shape, const std::vector<std::int64_t>& strides,
                  std::int64_t offset, const Scalar& fill);

/// What dense_view() makes of memory with these strides.
TensorType view_type(const Shape& shape, DType dtype, const std::vector<std::int64_t>& strides, const Scalar& fill);

}  // namespace strata::direct
