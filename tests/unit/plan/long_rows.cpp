// Which matrices have rows whose sums float32 would round too often.
#include "plan/long_rows.h"

#include <doctest/doctest.h>

#include <vector>

#include "strata/strata.h"

using namespace strata;

namespace {

/// 512 rows of blocks of 8 x 8 ones, `each` blocks in a row; `column(row, k)`: where the k-th of them stands,
/// ascending.
template <class F> Tensor blocks(int each, const F& column) {
  std::vector<std::int32_t> pos{0}, crd;
  for (int row = 0; row < 512 * 8; ++row) {
    for (int k = 0; k < each; ++k)
      for (int c = 0; c < 8; ++c) crd.push_back(column(row / 8, k) * 8 + c);
    pos.push_back(static_cast<std::int32_t>(crd.size()));
  }
  const std::vector<float> values(crd.size(), 1);
  return convert(Tensor::csr(512 * 8, 512 * 8, pos, crd, values), parse_format("BSR(8, 8)"));
}

}  // namespace

TEST_CASE("columns of blocks are long where many blocks meet, not where blocks are large") {
  const std::vector<char> by_column{0, 1}, by_row{1, 0};
  const Tensor even = blocks(8, [](int row, int k) { return k * 64 + row % 64; });  // 64 elements a column
  CHECK_FALSE(planning::has_long_rows(even, by_column));
  CHECK_FALSE(planning::has_long_rows(even, by_row));
  const Tensor crowded = blocks(2, [](int row, int k) { return k == 0 ? 0 : 1 + row % 511; });
  CHECK(planning::has_long_rows(crowded, by_column));  // 4,096 in the first eight
  CHECK_FALSE(planning::has_long_rows(crowded, by_row));
  const Tensor wide = blocks(264, [](int, int k) { return k; });  // 2,112 a row, 4,096 a column
  CHECK(planning::has_long_rows(wide, by_row));
  CHECK(planning::has_long_rows(wide, by_column));
}
