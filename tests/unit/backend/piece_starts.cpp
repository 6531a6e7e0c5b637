#include "backend/piece_starts.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <numeric>
#include <random>

namespace strata {

TEST_CASE("a piece has a place once all before it have sizes") {
  std::mt19937 r(3);
  for (int round = 0; round < 50; ++round) {
    const std::int64_t n = 1 + r() % 20;
    std::vector<std::int64_t> order(static_cast<std::size_t>(n)), sizes(order.size(), -1);
    std::iota(order.begin(), order.end(), 0);
    std::shuffle(order.begin(), order.end(), r);
    PieceStarts starts(n);
    for (std::int64_t k = 0; k < n; ++k) CHECK(starts.take() == k);
    for (const std::int64_t piece : order) {
      sizes[static_cast<std::size_t>(piece)] = r() % 3;
      starts.set_size(piece, sizes[static_cast<std::size_t>(piece)]);
      std::int64_t sum = 0;
      bool known = true;
      for (std::int64_t k = 0; k <= n; ++k) {
        CHECK(starts.start(k) == (known ? std::optional(sum) : std::nullopt));
        if (k == n) break;
        known = known && sizes[static_cast<std::size_t>(k)] >= 0;
        sum += sizes[static_cast<std::size_t>(k)];
      }
    }
  }
}

}  // namespace strata
