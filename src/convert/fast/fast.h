#pragma once
// Fast conversions between the structures that everyone uses. Each is an optional shortcut: it returns nothing where a
// detail does not fit, and the general path (emit, sort, build) does the work. Results are the same, bit for bit, for
// any number of threads.
#include <optional>

#include "strata/convert.h"

namespace strata::fast {

/// What to convert to, with every choice made that does not need counting.
struct Goal {
  const Format& format;
  const ConvertOptions& options;
};

/// The shortcut for this pair of formats, or nothing.
std::optional<Tensor> convert(const Tensor& t, const Format& format, const ConvertOptions& options);

/// The same elements in rows or columns, where the target is reached from them sooner than from `t`.
std::optional<Tensor> towards(const Tensor& t, const Format& format, Zeros zeros);
/// CSR or CSC, where this structure has a shortcut from there: to sort elements by its own levels takes several times
/// as long.
std::optional<Format> rows_before(const Format& part);

std::optional<Tensor> transpose_rows(const Tensor& t, const Goal& goal);  ///< CSR <-> CSC
std::optional<Tensor> rows_to_coo(const Tensor& t, const Goal& goal);  ///< CSR -> COO (shares coordinates and values)
std::optional<Tensor> coo_to_rows(const Tensor& t,
                                  const Goal& goal);  ///< COO, also unsorted and with duplicates -> CSR, CSC
std::optional<Tensor> rows_to_blocks(const Tensor& t, const Goal& goal);     ///< CSR -> BSR
std::optional<Tensor> blocks_to_rows(const Tensor& t, const Goal& goal);     ///< BSR -> CSR
std::optional<Tensor> rows_to_diagonals(const Tensor& t, const Goal& goal);  ///< CSR -> DIA
std::optional<Tensor> diagonals_to_rows(const Tensor& t, const Goal& goal);  ///< DIA -> CSR
std::optional<Tensor> rows_to_padded(const Tensor& t, const Goal& goal);     ///< CSR -> ELL, CSC -> the same by columns
std::optional<Tensor> padded_to_rows(const Tensor& t, const Goal& goal);     ///< ... and back
std::optional<Tensor> rows_to_listed(const Tensor& t,
                                     const Goal& goal);  ///< CSR -> DCSR, CSC -> DCSC (share coordinates and values)
std::optional<Tensor> listed_to_rows(const Tensor& t, const Goal& goal);  ///< ... and back
/// Are there so few elements that work for each row would be felt? The general path's cost follows the elements alone.
bool mostly_empty(std::int64_t rows, std::int64_t stored);
std::optional<Tensor> dense_to_rows(const Tensor& t, const Goal& goal);  ///< dense, any strides -> CSR, CSC
std::optional<Tensor> rows_to_dense(const Tensor& t, const Goal& goal);  ///< CSR, CSC -> dense

}  // namespace strata::fast
