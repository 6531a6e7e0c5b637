#pragma once
// Rows that are so long that their sums would lose digits, told from the others.
#include "kernels/isa/isa.h"

namespace strata::kernels::STRATA_ISA {

/// Calls others(begin, end) and longer(row) for rows of up to, and of more than, `limit` elements, in their order.
template <class P, class Others, class Longer>
static inline void with_long_rows(i64 begin, i64 end, const P* pos, i64 limit, const Others& others,
                                  const Longer& longer) {
  constexpr i64 together = 256;  // rows that are looked at, in vectors, without a jump
  i64 done = begin;
  for (i64 i = begin; i < end; i += together) {
    const i64 stop = i + together < end ? i + together : end;
    P longest = 0;
    for (i64 r = i; r < stop; ++r) {
      const P n = pos[r + 1] - pos[r];
      longest = n > longest ? n : longest;
    }
    if (static_cast<i64>(longest) <= limit) continue;
    for (i64 r = i; r < stop; ++r) {
      if (static_cast<i64>(pos[r + 1] - pos[r]) <= limit) continue;
      if (done < r) others(done, r);
      longer(r);
      done = r + 1;
    }
  }
  if (done < end) others(done, end);
}

}  // namespace strata::kernels::STRATA_ISA
