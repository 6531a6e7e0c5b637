// Slices of rows of equal weight, which threads share.
#include <doctest/doctest.h>

#include <random>
#include <vector>

#include "base/share.h"
#include "kernels/even_rows.h"
#include "kernels/match.h"

namespace strata::kernels {

TEST_CASE("shares of a total differ by one at most, and leave nothing over") {
  std::mt19937_64 r(5);
  for (int k = 0; k < 1000; ++k) {
    const i64 total = static_cast<i64>(r() >> (1 + r() % 62)), n = 1 + static_cast<i64>(r() % 300);
    CHECK(begin_of_share(total, 0, n) == 0);
    CHECK(begin_of_share(total, n, n) == total);
    for (i64 c = 0; c < n; ++c) {
      const i64 size = begin_of_share(total, c + 1, n) - begin_of_share(total, c, n);
      CHECK(size >= total / n);
      CHECK(size <= total / n + 1);
    }
  }
}

TEST_CASE("slices of rows weigh the same, up to one row") {
  std::mt19937 r(6);
  for (int k = 0; k < 200; ++k) {
    std::vector<i32> pos{0};
    const int rows = 1 + static_cast<int>(r() % 400), longest = 1 + static_cast<int>(r() % 40);
    for (int i = 0; i < rows; ++i) pos.push_back(pos.back() + static_cast<i32>(r() % static_cast<unsigned>(longest)));
    const i64 slices = 1 + static_cast<i64>(r() % 300);
    const double share = static_cast<double>(pos.back() + rows) / static_cast<double>(slices);
    for (i64 s = 0; s < slices; ++s) {
      const i64 begin = balanced_row(rows, pos.data(), s, slices), end = balanced_row(rows, pos.data(), s + 1, slices);
      CHECK(begin <= end);
      const i64 weight = pos[static_cast<std::size_t>(end)] + end - pos[static_cast<std::size_t>(begin)] - begin;
      CHECK(static_cast<double>(weight) <= share + longest + 1);
    }
    CHECK(balanced_row(rows, pos.data(), i64{0}, slices) == 0);
    CHECK(balanced_row(rows, pos.data(), slices, slices) == rows);
  }
}

namespace {
constexpr RowCosts dear{.masked = 5, .end = 4, .wrong = 20, .over = 40},
    cheap{.masked = 5, .end = 1, .wrong = 12, .over = 12}, wide{.masked = 9, .end = 2, .wrong = 30, .over = 30};
}

TEST_CASE("fours of elements that every row is given: by what rows have, and by what a wrong guess costs") {
  const auto chosen = [](i64 rows, const auto& length, const RowCosts& costs = dear) {
    std::vector<i32> pos{0};
    for (i64 i = 0; i < rows; ++i) pos.push_back(pos.back() + static_cast<i32>(length(i)));
    return fours_for_rows(rows, pos.data(), costs);
  };
  std::mt19937 r(7);
  std::poisson_distribution<int> four(4), ten(10), hundred(100);
  CHECK(chosen(5000, [&](i64) { return four(r); }) == 2);
  CHECK(chosen(5000, [&](i64) { return ten(r); }) == 4);
  CHECK(chosen(5000, [&](i64) { return ten(r); }, cheap) == 3);
  CHECK(chosen(5000, [&](i64) { return hundred(r); }) == 0);
  CHECK(chosen(5000, [](i64) { return 7; }) == 2);
  CHECK(chosen(5000, [](i64) { return 7; }, wide) == 0);
  CHECK(chosen(5000, [&](i64) { return 5 + r() % 4; }, wide) == 2);
  CHECK(chosen(5000, [](i64) { return 27; }) == 0);      // a core guesses what it has seen
  CHECK(chosen(100, [&](i64) { return ten(r); }) == 0);  // too few rows to ask
  RowCosts with_singles = dear;
  with_singles.singles = 5;
  CHECK(chosen(5000, [](i64) { return 9; }, with_singles) == singles);
  CHECK(chosen(5000, [](i64) { return 24; }, with_singles) == 6);
  CHECK(chosen(5000, [&](i64) { return ten(r); }, with_singles) == 4);
  CHECK(chosen(0, [](i64) { return 0; }) == 0);
}

}  // namespace strata::kernels
