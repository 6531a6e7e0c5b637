#pragma once
// What the hand-written kernels have in common: one sparse matrix times one dense vector or matrix.
#include <optional>

#include "kernels/isa/isa.h"
#include "kernels/registry.h"

namespace strata::kernels {

/// out[row, free] = sum over inner of sparse[row, inner] * dense[inner, free]; which dimension of which tensor is
/// which.
struct MatrixProduct {
  int sparse = 0, dense = 1;             ///< operands
  int row_dim = 0, inner_dim = 1;        ///< of the sparse operand
  int dense_inner = 0, dense_free = -1;  ///< dimensions of the dense operand (-1: a vector)
  int out_row = 0, out_free = -1;        ///< dimensions of the output
};

/// Nothing, with the reason in `why`, where the query is no such product of f32 or f64 with layouts that the loops can
/// stream. `complex_too`: or of c64 or c128, without conjugates.
std::optional<MatrixProduct> match_matrix_product(const Query& query, std::string& why, bool complex_too = false);

/// Do the index types have a row in the table of loops?
bool known_indices(const TensorType& t, std::string& why);

/// The dense sides of a product as the loops want them. Complex numbers are pairs of V there. `leaves`: the loop lets
/// whole rows of real numbers go past the caches from registers.
template <class V>
Dense<V> dense_arguments(const MatrixProduct& m, std::span<const Tensor> operands, const Tensor& out,
                         const Scalar& alpha, const Scalar& beta, bool streams_rows = false);
/// The same for out += ...: scales out by beta first, in parallel.
template <class V>
Dense<V> accumulate_arguments(const MatrixProduct& m, std::span<const Tensor> operands, const Tensor& out,
                              const Scalar& alpha, const Scalar& beta);

/// Element stride of a dimension of an identity all-dense tensor, and the address of its first element.
i64 dim_stride(const Tensor& t, int dim);
char* first_element(const Tensor& t);

/// Multiply-adds of a product, as many as take the time of one of a vector where there are more columns.
i64 product_work(i64 stored, i64 columns);

/// The first row of a slice of [0, rows), of `slices` of about equal weight: at which as many elements and rows have
/// passed. `pos` (rows + 1 entries) gives stored elements before each row.
template <class P> i64 balanced_row(i64 rows, const P* pos, i64 slice, i64 slices);

/// Calls f(begin, end) for slices of [0, rows) of about equal weight, in parallel. `pos` (rows + 1 entries) gives
/// stored elements before each row. Slices, `most` of them or fewer, depend on the problem and `most` alone.
template <class P, class F> void for_balanced_rows(i64 rows, const P* pos, i64 columns, const F& f, i64 most = 256);

}  // namespace strata::kernels

#include "kernels/match_inl.h"
