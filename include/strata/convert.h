#pragma once
// From one storage to another: conversions, slices, padding. Nothing is computed but sums of duplicates.
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "strata/tensor.h"

namespace strata {

/// What to do with slots that hold no more than the fill when leaving a format.
enum class Zeros : std::uint8_t {
  automatic,  ///< drop them from formats that can hold fill-in, keep every slot of others (design 3); where the fill is
              ///< zero, zeros of either sign are dropped
  exact,      ///< as automatic, but a zero of the other sign stays
  keep,       ///< keep every in-range slot
  drop,       ///< drop them from every format
};

/// Which elements go to which part when converting to a sum of parts.
struct Split {
  enum Kind : std::uint8_t { automatic, rows, band, blocks, mask } kind = automatic;
  std::int64_t k = 0, lo = 0, hi = 0;  ///< rows(k): the first k elements of each row; band(lo, hi): lo <= j - i <= hi
  double fill = 0.5;                   ///< blocks(fill): blocks filled at least so far go to the first part
  std::optional<Tensor> pattern = {};  ///< mask: elements stored there go to the first part
};

struct ConvertOptions {
  std::optional<DType> dtype = {}, pos_dtype = {}, crd_dtype = {};
  Zeros zeros = Zeros::automatic;
  Split split = {};
};

/// The same tensor in another format: any format to any format. Unsorted input is sorted, duplicates are added, blocks
/// that do not divide are padded. TensorError where the target cannot hold the tensor (structured: too many in a
/// group).
Tensor convert(const Tensor& t, const Format& format, const ConvertOptions& options = {});
inline Tensor convert(const Tensor& t, std::string_view format, const ConvertOptions& options = {}) {
  return convert(t, parse_format(format, t.rank()), options);
}
/// The general path only (emit, sort, build): right for every pair; the check of the fast paths.
Tensor convert_general(const Tensor& t, const Format& format, const ConvertOptions& options = {});
/// From a dense tensor, dropping elements with |x - fill| <= threshold (-0.0 is no more than 0, as for NumPy and
/// SciPy); without a threshold only those with the very bits of the fill.
Tensor from_dense(const Tensor& dense, const Format& format, std::optional<double> threshold = 0.0,
                  std::optional<Scalar> fill = {});
inline Tensor from_dense(const Tensor& dense, std::string_view format, std::optional<double> threshold = 0.0,
                         std::optional<Scalar> fill = {}) {
  return from_dense(dense, parse_format(format, dense.rank()), threshold, fill);
}
/// From coordinate lists: coords[d][k] is the d-th coordinate of element k (any index dtype); duplicates are added, in
/// the order in which they come. What is absent has the fill (0 unless told), which is never added to anything. To add
/// lists of several threads: Builder; to add other values at the same places: Assembly.
Tensor from_coo(std::span<const Buffer> coords, const Buffer& values, const Shape& shape, const Format& format,
                const ConvertOptions& options = {}, std::optional<Scalar> fill = {});
/// The same of vectors, spans and lists of numbers: from_coo({rows, columns}, values, {2, 3}, "CSR").
inline Tensor from_coo(const std::vector<Array>& coords, const Array& values, const Shape& shape,
                       std::string_view format = "COO", const ConvertOptions& options = {},
                       std::optional<Scalar> fill = {}) {
  return from_coo(buffers(coords), values.buffer, shape, parse_format(format, static_cast<int>(shape.size())), options,
                  fill);
}
/// Row-major dense, fill where absent.
Tensor to_dense(const Tensor& t);
/// The tensor without elements that hold the fill (of fill 0: zeros of either sign), in its own format; duplicates are
/// added first. A format that can hold fill-in keeps what it needs around the others, a dense tensor everything.
Tensor drop_zeros(const Tensor& t);

/// What is taken of one dimension: `count` coordinates from `start` on, `step` apart (backwards where that is
/// negative), or, without `keeps`, the one at `start`, and the dimension goes.
struct Slice {
  std::int64_t start = 0, count = 1, step = 1;
  bool keeps = true;
};
/// A part of a tensor, one Slice a dimension. Its format is the tensor's own where all dimensions stay and that can
/// hold any pattern, else a compressed level per dimension (of dense tensors dense ones). Rows of CSR that follow each
/// other share its arrays. IndexError.
Tensor slice(const Tensor& t, std::span<const Slice> slices);
/// The tensor between `before[d]` coordinates in front and `after[d]` behind in dimension d, all of which hold its fill
/// (NumPy's pad). The format as of a slice. TensorError: a negative width.
Tensor pad(const Tensor& t, std::span<const std::int64_t> before, std::span<const std::int64_t> after);
/// The coordinates of one dimension in the order given, some of them left out, some of them several times (NumPy's take
/// along an axis). The format as of a slice. IndexError.
Tensor take(const Tensor& t, std::size_t dim, std::span<const std::int64_t> coordinates);

}  // namespace strata
