// What a matrix looks like: small matrices whose structure is plain to see.
// (tests/python/formats/test_structure.py compares with SciPy.)
#include <doctest/doctest.h>

#include <algorithm>
#include <vector>

#include "strata/ops.h"
#include "strata/structure.h"

using namespace strata;

namespace {

Tensor matrix(std::int64_t m, std::int64_t n, const std::vector<std::array<double, 3>>& elements) {
  std::vector<std::int64_t> rows, columns;
  std::vector<double> values;
  for (const auto& e : elements) {
    rows.push_back(static_cast<std::int64_t>(e[0]));
    columns.push_back(static_cast<std::int64_t>(e[1]));
    values.push_back(e[2]);
  }
  const Buffer coords[] = {Buffer::copy_of<std::int64_t>(rows), Buffer::copy_of<std::int64_t>(columns)};
  return from_coo(coords, Buffer::copy_of<double>(values), {m, n}, parse_format("CSR"));
}

}  // namespace

TEST_CASE("a tridiagonal matrix") {
  std::vector<std::array<double, 3>> e;
  for (int i = 0; i < 50; ++i)
    for (int j = std::max(0, i - 1); j < std::min(50, i + 2); ++j)
      e.push_back({double(i), double(j), i == j ? 2.0 : -1.0});
  const Structure s = describe_structure(matrix(50, 50, e));
  CHECK(s.nse == 148);
  CHECK(s.num_diagonals == 3);
  CHECK(s.diagonal_fill == 1.0);
  CHECK(s.lower_bandwidth == 1);
  CHECK(s.upper_bandwidth == 1);
  CHECK(s.symmetric);
  CHECK(s.pattern_symmetric);
  CHECK(!s.skew);
  CHECK(s.shortest_row == 2);
  CHECK(s.longest_row == 3);
  CHECK(s.recommended == "DIAI");
  CHECK(s.why.find("diagonals") != std::string::npos);
  CHECK(s.to_string().find("3 diagonals, 100 % full, from -1 to 1") != std::string::npos);
}

TEST_CASE("blocks of 2 x 2") {
  std::vector<std::array<double, 3>> e;
  for (int b = 0; b < 30; ++b)
    for (int k = 0; k < 4; ++k) e.push_back({double(2 * b + k / 2), double(2 * (b * 7 % 30) + k % 2), 1.0 + k});
  const Structure s = describe_structure(matrix(60, 60, e));
  CHECK(s.best_block.rows == 2);
  CHECK(s.best_block.columns == 2);
  CHECK(s.best_block.blocks == 30);
  CHECK(s.best_block.fill == 1.0);
  CHECK(s.recommended == "BSR(2, 2)");
}

TEST_CASE("a matrix without elements, without rows, without columns") {
  for (const auto& [m, n] : {std::pair{0, 0}, std::pair{0, 5}, std::pair{5, 0}, std::pair{5, 5}}) {
    const Structure s = describe_structure(matrix(m, n, {}));
    CHECK(s.nse == 0);
    CHECK(s.num_diagonals == 0);
    CHECK(!s.formats.empty());
    CHECK(!s.to_string().empty());
  }
}

TEST_CASE("every format that is named can be made, and the cheapest comes first") {
  const Tensor t = matrix(6, 6, {{0, 0, 1}, {1, 1, 2}, {1, 4, 3}, {2, 2, 4}, {5, 5, 5}});
  const Structure s = describe_structure(t);
  CHECK(
      std::is_sorted(s.formats.begin(), s.formats.end(), [](const auto& a, const auto& b) { return a.cost < b.cost; }));
  for (const FormatEstimate& f : s.formats) {
    CAPTURE(f.format);
    const Tensor made = convert(t, parse_format(f.format, 2));
    CHECK(same_storage(convert(made, parse_format("CSR")), t));
  }
}

TEST_CASE("vectors are refused") {
  const std::vector<std::int64_t> strides = {1};
  CHECK_THROWS_AS(describe_structure(borrow_dense(Buffer::copy_of<double>(std::vector<double>{1, 2}), {2}, strides)),
                  TensorError);
}
