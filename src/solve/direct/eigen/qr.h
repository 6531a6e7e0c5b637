#pragma once
// What both QR factorizations refuse.
#include "solve/factors.h"

namespace strata::solving {

inline void check_rank(std::int64_t rank, std::int64_t columns) {
  if (rank < columns)
    throw SingularError({.what = "the matrix has rank " + std::to_string(rank) + ", not " + std::to_string(columns),
                         .expected = "full rank",
                         .fix = "lsmr() gives the smallest solution of least squares"});
}

}  // namespace strata::solving
