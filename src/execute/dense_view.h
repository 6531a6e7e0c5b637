#pragma once
// Elementwise work on dense outputs: scaling by beta, combining partial results, widening and narrowing. Every element
// is computed alone, so results do not depend on how the work is cut.
#include "strata/tensor.h"

namespace strata::merging {
enum class Combine : std::uint8_t;
}

namespace strata::execution {

/// Strided dense memory by dimension; `data` is the element at all-zero coordinates.
struct DenseView {
  char* data = nullptr;
  DType dtype = DType::f64;
  int rank = 0;
  std::int64_t shape[max_dims] = {};
  std::int64_t strides[max_dims] = {};  ///< elements

  std::int64_t size() const;  ///< product of the shape
};

/// A plain dense tensor as a view.
DenseView view_of(const Tensor& t);
/// n elements side by side.
DenseView view_of(DType dtype, void* data, std::int64_t n);
/// Dimension d of the result is dimension order[d] of v.
DenseView permuted(const DenseView& v, std::span<const int> order);
/// View of contiguous memory that keeps the order of `like`'s dimensions by stride (so that unit stride stays where it
/// is).
DenseView contiguous_like(const DenseView& like, void* data);
/// May two different elements share memory? (Exact for what slices and transposes of arrays can make.)
bool overlaps_itself(const DenseView& v);
/// The bytes [first, last) that the view touches.
std::pair<const char*, const char*> extent_of(const DenseView& v);

/// v = value everywhere, a value of its dtype.
void fill(const DenseView& v, const Scalar& value);
/// v = beta * v; beta 0 stores zeros and never reads. Narrow floats, which have no arithmetic of their own, are scaled
/// in the dtype of beta; all others have it.
void scale(const DenseView& v, const Scalar& beta);
/// to = alpha * from + beta * to in the dtype of both factors, which has arithmetic of its own; beta 0 never reads. The
/// same shape.
void axpby(const DenseView& to, const DenseView& from, const Scalar& alpha, const Scalar& beta);
/// v = v (+) w, or w (+) v, as generated code combines values; the same dtype and shape.
void combine(const DenseView& v, const DenseView& w, merging::Combine how, bool w_first = false);
/// The first of them becomes what all make, in pairs and, of narrow floats, in double precision.
void combine_in_pairs(const Buffer& numbers, merging::Combine how);
/// The same elements, row by row.
Tensor row_major_copy(const Tensor& t);
/// to = from, converted as Scalar::as does. The same shape.
void assign(const DenseView& to, const DenseView& from);

}  // namespace strata::execution
