#pragma once
// How many elements every row of a CSR matrix is given in a product with a vector, whatever it has.
#include <algorithm>

#include "base/share.h"
#include "kernels/isa/isa.h"
#include "machine/machine.h"

namespace strata::kernels {

/// Fours of elements that take the least time (0: each row as many as it has; `singles`: no fours), by up to 64 pairs
/// of rows from all over the matrix.
template <class P> i64 fours_for_rows(i64 rows, const P* pos, const RowCosts& costs) {
  if (rows < 256) return 0;
  const i64 sampled =
      std::min<i64>(rows / 32, 64);  // 64 take half a microsecond, a tenth of a product of a thousand rows
  constexpr i64 four = 4;
  i64 cost[most_fours + 1] = {}, one_by_one = 0;
  for (i64 s = 0; s < sampled; ++s) {
    const i64 r = begin_of_share(rows - 1, s, sampled);
    const i64 length = static_cast<i64>(pos[r + 1]) - static_cast<i64>(pos[r]),
              next = static_cast<i64>(pos[r + 2]) - static_cast<i64>(pos[r + 1]);
    cost[0] += four * (length / 4 + 1) + costs.end + (length / 4 != next / 4 ? costs.wrong : 0);
    one_by_one += costs.singles * length + four * (costs.end / 2 + (length != next ? costs.wrong : 0));
    for (i64 f = 1; f <= most_fours; ++f) {
      const i64 rest = (length + 3) / 4 - f;
      cost[f] += costs.masked * f + (rest > 0 ? four * rest + costs.over : 0);
    }
  }
  const i64* least = std::min_element(cost, cost + most_fours + 1);
  return costs.singles > 0 && one_by_one < four * *least ? singles : least - cost;
}

}  // namespace strata::kernels
