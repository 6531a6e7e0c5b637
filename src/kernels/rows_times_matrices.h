#pragma once
#include <cstdint>
#include <span>

#include "strata/dtype.h"

namespace strata::kernels {

inline constexpr std::int64_t rows_of_task = 128;

/// Some rows with the same matrix, at most rows_of_task.
struct RowsTask {
  std::int64_t begin, end;  ///< of `rows`
  std::int64_t matrix;      ///< its first element
};

/// Row r of `out`, of so many columns, becomes row r of `x`, of `depth` values, times its task's matrix, whose rows are
/// contiguous and `step` apart. Of f32 or f64.
void rows_times_matrices(DType dtype, std::span<const std::int64_t> rows, std::span<const RowsTask> tasks,
                         const void* x, const void* matrices, std::int64_t step, void* out, std::int64_t depth,
                         std::int64_t columns);

}  // namespace strata::kernels
