#include "ops/turned_product.h"

#include <optional>
#include <vector>

#include "backend/pool.h"
#include "base/checked.h"
#include "execute/dense_view.h"
#include "machine/machine.h"
#include "plan/product.h"
#include "tensor/row_major.h"

namespace strata::evaluation {
namespace {

using i64 = std::int64_t;
using execution::DenseView;

/// Rows first .. first + rows of a matrix, turned.
DenseView turned_rows(DenseView v, i64 first, i64 rows) {
  v.data += first * v.strides[0] * static_cast<i64>(size_of(v.dtype));
  v.shape[0] = rows;
  std::swap(v.shape[0], v.shape[1]);
  std::swap(v.strides[0], v.strides[1]);
  return v;
}

bool overlap(const DenseView& a, const DenseView& b) {
  const auto [first, last] = execution::extent_of(a);
  const auto [begin, end] = execution::extent_of(b);
  return first < end && begin < last;
}

/// Rows of a that are turned, multiplied and turned back by one thread while they stay in its second level, with all of
/// b. 0: b, or what belongs to a row, is too large for that, or there are too few rows.
i64 rows_of_strip(const Tensor& a, const Tensor& b, const Tensor& c) {
  constexpr i64 rows = 64;
  const i64 row =
      b.shape()[0] * static_cast<i64>(size_of(a.dtype())) + b.shape()[1] * static_cast<i64>(size_of(c.dtype()));
  i64 matrix = 0;
  for (int k = 0; k < b.num_parts(); ++k) {
    matrix += b.part(k).values.bytes();
    for (const auto& level : b.part(k).levels) matrix += level.pos.bytes() + level.crd.bytes();
  }
  const bool stays = rows * row <= machine().second_level / 2 && matrix <= machine().second_level / 2;
  return stays && a.shape()[0] >= 8 * rows ? rows : 0;
}

struct Strip {
  Tensor in, out;  ///< of a and of c, turned
};

}  // namespace

Tensor turned(const Tensor& matrix) {
  static constexpr int perm[] = {1, 0};
  return matrix.transpose(perm);
}

bool wants_turning(const Tensor& a, const Tensor& b, const MatmulOptions& o) {
  return is_plain(o) && b.rank() == 2 && !b.format().is_all_dense() && a.rank() == 2 && a.format().is_all_dense() &&
         a.shape()[0] >= worth_moving;
}

void turned_product(const Tensor& a, const Tensor& b, const Tensor& c, const Scalar& alpha, const Scalar& beta,
                    const MatmulOptions& options) {
  const Tensor matrix = turned(b);
  const DenseView to = execution::view_of(c);
  const i64 all = a.shape()[0], strip = planning::is_plain_dense(a.type()) && !overlap(execution::view_of(a), to)
                                            ? rows_of_strip(a, b, c)
                                            : 0;
  const auto product = [&](const Tensor& in, const Tensor& out, i64 first, i64 rows) {
    const DenseView written = turned_rows(to, first, rows), scratch = execution::view_of(out);
    if (!beta.is_zero()) execution::assign(scratch, written);
    matmul_into(matrix, in, out, alpha, beta, options);
    execution::assign(written, scratch);
  };
  const auto empty = [&](i64 rows) {
    return Strip{empty_dense(a.dtype(), {b.shape()[0], rows}), empty_dense(c.dtype(), {b.shape()[1], rows})};
  };
  if (strip == 0) return product(turned(a), empty_dense(c.dtype(), {b.shape()[1], all}), 0, all);
  const DenseView from = execution::view_of(a);
  std::vector<std::optional<Strip>> held(static_cast<std::size_t>(max_threads));
  parallel_for(ceil_div(all, strip), [&](i64 k) {
    const i64 first = k * strip, rows = std::min(strip, all - first);
    std::optional<Strip>& own = held[static_cast<std::size_t>(worker_index())];
    if (!own || own->in.shape()[1] != rows) own = empty(rows);
    execution::assign(execution::view_of(own->in), turned_rows(from, first, rows));
    product(own->in, own->out, first, rows);
  });
}

}  // namespace strata::evaluation
