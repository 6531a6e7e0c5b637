#pragma once
// Problems over other indices, whose tensors share their memory: the block and the place within it, the diagonal and
// the place on it, or the same in another order.
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "plan/nest/problem.h"

namespace strata::direct {

/// Coordinates, each so much larger, in this dtype.
Buffer moved(const Buffer& crd, DType dtype, std::int64_t by);

/// index = outer * size + inner.
struct IndexSplit {
  std::string index, outer, inner;
  std::int64_t size = 0;
};

/// C(i,j) = A(i,k) * B(k,j) as C(i_block, i_in, ...) = A(i_block, i_in, ...) * ... over tensors that share their
/// memory.
struct Blocked {
  NestProblem problem;

  /// A result of this problem, in its format, over whole indices.
  Tensor joined(const Tensor& result) const;

  Format format;                    ///< of the joined result: the one asked for, where that has the same blocks
  std::int64_t first_diagonal = 0;  ///< diagonals are counted from this one on
  bool wants_pattern = false;  ///< it serves a result in the pattern of an operand: others would fill all diagonals
  Shape shape;
  std::vector<std::int64_t> strides;  ///< of a dense one
  std::vector<int> turned = {};       ///< dimension d of the joined result is dimension turned[d] of the problem's

 private:
  /// The same, with padded levels as long as this result's.
  Format with_rows_of(const Format& result) const;
};

/// Cuts the indices of `splits`, and those that operands store in blocks. Nothing where that is no index, or where an
/// operand stores one whole that another stores in blocks. Operands that store an index of `splits` otherwise are
/// converted.
std::optional<Blocked> by_blocks(const NestProblem& problem, std::span<const IndexSplit> splits);
/// C(i,j) = f(A(i,j), B(i,j)) as C(d,j) = f(A(d,j), B(d,j)), d = j - i, where the result and all sparse operands are
/// stored by diagonals along the same index; y(i) = sum(j, A(i,j) * x(j)) as sum(d, A(d,i) * x(i + d)), where the
/// result is dense and has not both. What lies on a diagonal outside of the matrix may be computed too, and is never
/// read. Nothing elsewhere.
std::optional<Blocked> by_diagonals(const NestProblem& problem);
/// C(j,i) = f(A(i,j)) as C(i,j) = f(A(i,j)), whose result is a transpose. Nothing where no sparse operand has the
/// indices of the result in another order.
std::optional<Blocked> turned(const NestProblem& problem);

}  // namespace strata::direct
