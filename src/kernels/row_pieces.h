#pragma once
// Long rows of a CSR matrix times several columns, piece by piece as rows of their own: a column's sum is one chain of
// additions, of which float32 would keep half the digits.
#include <algorithm>
#include <type_traits>
#include <vector>

#include "kernels/isa/isa.h"

namespace strata::kernels {

/// Rows [begin, end) by `loop`; those of more than `longest` elements in pieces, which are added up in double.
/// `complex`: numbers are pairs of V.
template <class V, class P, class C, class Loop>
void rows_in_pieces(i64 begin, i64 end, const P* pos, const C* crd, const V* values, const Dense<V>& d, bool complex,
                    const Loop& loop) {
  constexpr i64 longest = 2048, piece = 512, together = 64, width = 64;
  if constexpr (std::is_same_v<V, double>) return loop(begin, end, pos, crd, values, d);
  const auto length = [&](i64 row) { return static_cast<i64>(pos[row + 1]) - static_cast<i64>(pos[row]); };
  const auto long_row = [&](i64 row) {
    std::vector<P> ends(together + 1);
    std::vector<V> sums(together * width);
    for (i64 c = 0; c < d.columns; c += width) {
      Dense<V> part = d;
      part.x = d.x + c;
      part.out = sums.data();
      part.ldo = width;
      part.columns = std::min(width, d.columns - c);
      part.alpha = 1, part.beta = part.alpha_im = part.beta_im = 0;
      part.streaming = part.along = false;
      part.tile = 0;
      double total[width] = {};
      for (i64 k = pos[row], stop = pos[row + 1]; k < stop;) {
        i64 n = 0;
        ends[0] = static_cast<P>(k);
        for (; n < together && k < stop; ++n) {
          k = std::min(stop, k + piece);
          ends[static_cast<std::size_t>(n) + 1] = static_cast<P>(k);
        }
        loop(0, n, ends.data(), crd, values, part);
        for (i64 r = 0; r < n; ++r)
          for (i64 q = 0; q < part.columns; ++q)
            total[q] += static_cast<double>(sums[static_cast<std::size_t>(r * width + q)]);
      }
      V* const out = d.out + row * d.ldo + c;
      // (Zero times an infinity would put a NaN beside it.)
      const auto scaled = [](double alpha, double alpha_im, double re, double im) {
        return alpha_im == 0 ? alpha * re : alpha * re - alpha_im * im;
      };
      for (i64 q = 0; q < part.columns; q += complex ? 2 : 1) {
        const double im = complex ? total[q + 1] : 0,
                     before = d.beta != 0 || d.beta_im != 0 ? static_cast<double>(out[q]) : 0,
                     before_im = complex && (d.beta != 0 || d.beta_im != 0) ? static_cast<double>(out[q + 1]) : 0;
        out[q] =
            static_cast<V>(scaled(d.alpha, d.alpha_im, total[q], im) + scaled(d.beta, d.beta_im, before, before_im));
        if (complex)
          out[q + 1] = static_cast<V>(scaled(d.alpha, -d.alpha_im, im, total[q]) +
                                      scaled(d.beta, -d.beta_im, before_im, before));
      }
    }
  };
  i64 done = begin;
  for (i64 row = begin; row < end; ++row) {
    if (length(row) <= longest) continue;
    if (done < row) loop(done, row, pos, crd, values, d);
    long_row(row);
    done = row + 1;
  }
  if (done < end) loop(done, end, pos, crd, values, d);
}

}  // namespace strata::kernels
