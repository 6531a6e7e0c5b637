#pragma once
#include <algorithm>

#include "backend/pool.h"
#include "base/share.h"
#include "kernels/caches.h"

namespace strata::kernels {

/// Multiply-adds that are worth a chunk of their own: two or three microseconds of work (a helper that still spins
/// joins within one).
inline constexpr i64 chunk_work = 4096;
/// Bytes from which on a matrix is not expected to be in a cache.
inline constexpr std::int64_t streamed_bytes = 16 << 20;
/// Bytes from which on a result goes past the caches. Where a core's second level hands on what it drops to the third
/// (the Intel processors with fast gathers), reading the lines first costs more than a third level saves: 1.07 to 1.25
/// times as fast from 8 MB on; and where rows leave from registers, without a buffer. Elsewhere a result that fits a
/// third level is better off there.
inline std::int64_t streaming_bytes(bool streams_by_rows = false) {
  return std::int64_t{fast_gathers() || streams_by_rows ? 8 : 32} << 20;
}
/// Multiply-adds after which a loop that one thread walks alone asks whether to stop: a few milliseconds.
inline constexpr i64 slice_work = i64{1} << 22;
inline i64 chunk_count(i64 work) { return std::clamp<i64>(work / chunk_work, 1, 256); }

inline i64 product_work(i64 stored, i64 columns) { return stored * std::max<i64>(1, columns / 8); }

template <class P> i64 balanced_row(i64 rows, const P* pos, i64 slice, i64 slices) {
  if (slice == 0 || slice == slices) return slice == 0 ? 0 : rows;
  const i64 weight = begin_of_share(static_cast<i64>(pos[rows]) + rows, slice, slices);
  const auto before = [&](i64 row) { return static_cast<i64>(pos[row]) + row < weight; };
  // Near where it would be if all rows weighed the same: what is read of a far `pos` takes longer than all the rest.
  i64 lo = 0, hi = rows;
  const i64 guess = begin_of_share(rows, slice, slices);
  if (before(guess)) {
    lo = guess + 1;
    for (i64 step = 8; lo + step < rows; step *= 8) {
      if (!before(lo + step)) {
        hi = lo + step;
        break;
      }
      lo += step + 1;
    }
  } else {
    hi = guess;
    for (i64 step = 8; hi - step > 0; step *= 8) {
      if (before(hi - step)) {
        lo = hi - step + 1;
        break;
      }
      hi -= step;
    }
  }
  while (lo < hi) {
    const i64 mid = (lo + hi) / 2;
    if (before(mid)) lo = mid + 1;
    else hi = mid;
  }
  return lo;
}

template <class P, class F> void for_balanced_rows(i64 rows, const P* pos, i64 columns, const F& f, i64 most) {
  const i64 stored = rows > 0 ? static_cast<i64>(pos[rows]) : 0;
  const i64 slices = std::min(most, chunk_count(product_work(stored + rows, columns)));
  parallel_for(slices, [&](i64 s) {
    const i64 begin = balanced_row(rows, pos, s, slices), end = balanced_row(rows, pos, s + 1, slices);
    if (begin < end) f(begin, end);
  });
}

template <class V>
Dense<V> dense_arguments(const MatrixProduct& m, std::span<const Tensor> operands, const Tensor& out,
                         const Scalar& alpha, const Scalar& beta, bool streams_rows) {
  const Tensor& x = operands[static_cast<std::size_t>(m.dense)];
  Dense<V> d;
  const i64 stored = static_cast<i64>(operands[static_cast<std::size_t>(m.sparse)].part().values.bytes());
  d.stream = stored > streamed_bytes;
  d.beyond = stored > machine().second_level;
  d.x = reinterpret_cast<const V*>(first_element(x));
  d.ldx = dim_stride(x, m.dense_inner);
  d.out = reinterpret_cast<V*>(first_element(out));
  d.ldo = dim_stride(out, m.out_row);
  d.columns = m.out_free < 0 ? 1 : out.shape()[static_cast<std::size_t>(m.out_free)];
  d.alpha = static_cast<V>(alpha.to_double());
  d.beta = static_cast<V>(beta.to_double());
  if (is_complex(out.dtype())) {
    d.alpha_im = static_cast<V>(alpha.to_complex().imag());
    d.beta_im = static_cast<V>(beta.to_complex().imag());
    d.ldx *= 2, d.ldo *= 2, d.columns *= 2;
  }
  const i64 row_bytes = d.columns * static_cast<i64>(sizeof(V));
  streams_rows = streams_rows && !is_complex(out.dtype()) && loops().streams_by_rows(d.out, row_bytes);
  d.streaming = d.beta == V(0) && d.beta_im == V(0) && d.ldo == d.columns && row_bytes <= most_streaming_bytes &&
                out.shape()[static_cast<std::size_t>(m.out_row)] * row_bytes > streaming_bytes(streams_rows);
  return d;
}

template <class V>
Dense<V> accumulate_arguments(const MatrixProduct& m, std::span<const Tensor> operands, const Tensor& out,
                              const Scalar& alpha, const Scalar& beta) {
  Dense<V> d = dense_arguments<V>(m, operands, out, alpha, beta);
  const i64 rows = out.shape()[static_cast<std::size_t>(m.out_row)], chunks = chunk_count(rows * d.columns / 4);
  if (d.beta != V(1))
    parallel_for(chunks, [&](i64 c) {
      const i64 begin = begin_of_share(rows, c, chunks), end = begin_of_share(rows, c + 1, chunks);
      if (d.beta == V(0) && d.ldo == d.columns)
        return void(std::fill(d.out + begin * d.ldo, d.out + end * d.ldo, V(0)));  // one run
      for (i64 i = begin; i < end; ++i) {
        V* row = d.out + i * d.ldo;
        if (d.beta == V(0)) std::fill(row, row + d.columns, V(0));
        else
          for (i64 k = 0; k < d.columns; ++k) row[k] *= d.beta;
      }
    });
  return d;
}

}  // namespace strata::kernels
