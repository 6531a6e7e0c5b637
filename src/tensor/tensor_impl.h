#pragma once
// What a Tensor holds, and helpers shared by the files of this folder.
#include <atomic>

#include "base/last_made.h"
#include "tensor/is_fill.h"
#include "tensor/part_view.h"

namespace strata {

/// What those above have found out about a tensor's pattern, which never changes. They know of what type theirs is.
struct PatternMemo {
  PatternMemo() = default;
  PatternMemo(const PatternMemo&) = delete;
  PatternMemo& operator=(const PatternMemo&) = delete;
  virtual ~PatternMemo() = default;
  virtual void forget_tensors() const {}  ///< over the same arrays
};

struct Tensor::Impl {
  TensorType type;
  std::vector<Part> parts;
  mutable std::atomic<std::int64_t> nse{-1};  ///< -1: not counted yet
  LastMade<PatternMemo> memo;                 ///< planning's
  struct Transposed {
    std::vector<int> perm;
    Tensor tensor;
  };
  LastMade<Transposed> transposed;  ///< asked for last: what is found out about it stays known
  /// It is kept with another: it keeps none itself, or A.T.T.T ... would hang on A.
  mutable std::atomic<bool> is_kept{false};
  /// Lets go of the tensors over the same arrays that are kept with this one.
  void forget_tensors() const;

  static const Impl& of(const Tensor& t) { return *t.impl_; }
};

/// TensorError where there are more batches than could be walked: those that store nothing need no memory.
void check_batches(const Part& part);
/// Every invariant of a part (TensorError naming the level), batch by batch.
void check_part(const Part& part, const Shape& shape, DType dtype);
/// That the strides of an all-dense part lead nowhere outside of its values.
void check_dense(const Part& part, DType dtype);
/// In-range slots of a part.
std::int64_t count_slots(const Part& part, const Shape& shape);
/// Positions in use over all batches (values that are in use, outside slots included).
std::int64_t used_values(const Part& part);
/// The part with a value for each position in use, where one served for several.
Part with_own_values(Part part, DType dtype);
/// The same tensor in memory of its own, which nobody else writes to.
Tensor own_copy(const Tensor& t);
/// The same tensor with another fill (of its dtype).
Tensor with_fill(const Tensor& t, const Scalar& fill);
/// Throws TensorError unless every extent is a legal size.
void check_shape(const Format& format, const Shape& shape);
/// Dense levels in this order of dimensions. Those of up to four dimensions are made once and shared: comparing two
/// tensors' formats is then comparing two pointers, and a product of small operands costs little more than its
/// arithmetic.
Format dense_format(const std::vector<int>& order);
/// Strides per level of row-major storage in level order (all-dense), and what a type records of given ones (empty:
/// row-major).
std::vector<std::int64_t> row_major_strides(std::span<const LevelRange> ranges);
std::vector<TensorType::Stride> stride_record(std::span<const LevelRange> ranges,
                                              std::span<const std::int64_t> strides);

/// acc += value in a dtype: integers wrap, bool is or, f16, bf16 and fp8 add in f32.
Scalar add(const Scalar& a, const Scalar& b);

}  // namespace strata
