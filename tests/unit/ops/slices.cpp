// Slices of CSR matrices of any index types, beside single elements of the whole; under the sanitizers too.
#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <random>
#include <vector>

#include "strata/ops.h"

using namespace strata;

TEST_CASE("slices of rows and columns have the elements of the whole") {
  std::mt19937 r(1);
  const auto below = [&](std::int64_t n) { return static_cast<std::int64_t>(r() % static_cast<std::uint64_t>(n)); };
  for (int round = 0; round < 300; ++round) {
    const std::int64_t rows = 1 + below(6), columns = 1 + below(round % 3 == 0 ? 2000 : 120),
                       most = 1 + below(std::min<std::int64_t>(columns, 90));
    const DType crd_dtype = std::array{DType::i32, DType::i64, DType::u16}[static_cast<std::size_t>(below(3))];
    std::vector<std::int64_t> pos{0}, crd;
    std::vector<double> values;
    for (std::int64_t i = 0; i < rows; ++i) {
      std::vector<std::int64_t> row;
      for (std::int64_t n = below(most + 1); n > 0; --n) row.push_back(below(columns));
      std::sort(row.begin(), row.end());
      row.erase(std::unique(row.begin(), row.end()), row.end());
      for (auto c : row) crd.push_back(c), values.push_back(static_cast<double>(crd.size()));
      pos.push_back(static_cast<std::int64_t>(crd.size()));
    }
    RawArrays arrays;
    arrays.pos[1] = Buffer::copy_of<std::int64_t>(pos);
    arrays.crd[1] = Buffer::copy_of<std::int64_t>(crd).cast(crd_dtype);
    arrays.values = Buffer::copy_of<double>(values);
    const Tensor whole = make_tensor(parse_format("CSR"), {rows, columns}, std::move(arrays));
    const auto some = [&](std::int64_t extent) {
      Slice s{.start = below(extent), .count = 1, .step = 1, .keeps = below(4) > 0};
      if (s.keeps && below(2)) s.step = 1 + below(4);
      const bool back = s.keeps && below(3) == 0;
      const std::int64_t room = (back ? s.start : extent - 1 - s.start) / s.step;
      if (s.keeps) s.count = below(room + 2);
      if (back) s.step = -s.step;
      return s;
    };
    const std::array<Slice, 2> slices{some(rows), some(columns)};
    const Tensor part = slice(whole, slices);
    for (std::int64_t i = 0; i < slices[0].count; ++i)
      for (std::int64_t j = 0; j < slices[1].count; ++j) {
        std::vector<std::int64_t> at;
        if (slices[0].keeps) at.push_back(i);
        if (slices[1].keeps) at.push_back(j);
        const std::array<std::int64_t, 2> from{slices[0].start + i * slices[0].step,
                                               slices[1].start + j * slices[1].step};
        REQUIRE(part.get(at).value_or(Scalar::of(0.0)).to_double() ==
                whole.get(from).value_or(Scalar::of(0.0)).to_double());
      }
  }
}
