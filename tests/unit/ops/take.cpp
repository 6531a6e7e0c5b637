// Lists of coordinates of matrices of any index types, beside single elements of the whole; under the sanitizers too.
#include <doctest/doctest.h>

#include <array>
#include <random>
#include <vector>

#include "strata/ops.h"

using namespace strata;

TEST_CASE("lists of rows and columns have the elements of the whole") {
  std::mt19937 r(2);
  const auto below = [&](std::int64_t n) { return static_cast<std::int64_t>(r() % static_cast<std::uint64_t>(n)); };
  for (int round = 0; round < 200; ++round) {
    const std::int64_t rows = 1 + below(6), columns = 1 + below(round % 3 == 0 ? 2000 : 90), one_of = 1 + below(12);
    const DType crd_dtype = std::array{DType::i32, DType::i64, DType::u16}[static_cast<std::size_t>(below(3))];
    std::vector<std::int64_t> pos{0}, crd;
    std::vector<double> values;
    for (std::int64_t i = 0; i < rows; ++i) {
      for (std::int64_t j = 0; j < columns; ++j)
        if (below(one_of) == 0) crd.push_back(j), values.push_back(static_cast<double>(crd.size()));
      pos.push_back(static_cast<std::int64_t>(crd.size()));
    }
    RawArrays arrays;
    arrays.pos[1] = Buffer::copy_of<std::int64_t>(pos);
    arrays.crd[1] = Buffer::copy_of<std::int64_t>(crd).cast(crd_dtype);
    arrays.values = Buffer::copy_of<double>(values);
    const Tensor csr = make_tensor(parse_format("CSR"), {rows, columns}, std::move(arrays));
    const Tensor whole = round % 4 == 0 ? convert(csr, parse_format("COO")) : csr;
    for (std::size_t dim = 0; dim < 2; ++dim) {
      std::vector<std::int64_t> list;
      for (std::int64_t n = below(20); n > 0; --n) list.push_back(below(whole.shape()[dim]));
      const Tensor some = take(whole, dim, list);
      REQUIRE(some.shape()[dim] == static_cast<std::int64_t>(list.size()));
      REQUIRE(some.shape()[1 - dim] == whole.shape()[1 - dim]);
      some.validate();
      for (std::int64_t i = 0; i < some.shape()[0]; ++i)
        for (std::int64_t j = 0; j < some.shape()[1]; ++j) {
          Shape from{i, j};
          from[dim] = list[static_cast<std::size_t>(from[dim])];
          const auto mine = some.get(Shape{i, j}), theirs = whole.get(from);
          REQUIRE(mine.has_value() == theirs.has_value());
          if (mine) REQUIRE(mine->to_double() == theirs->to_double());
        }
    }
  }
}

TEST_CASE("coordinates that leave their dimension are refused") {
  const std::vector<double> eye{1, 0, 0, 1};
  const Tensor t = from_dense(borrow_dense(Buffer::copy_of<double>(eye), {2, 2}, std::array<std::int64_t, 2>{2, 1}),
                              parse_format("CSR"));
  CHECK_THROWS_AS(take(t, 0, std::vector<std::int64_t>{0, 2}), IndexError);
  CHECK_THROWS_AS(take(t, 1, std::vector<std::int64_t>{-1}), IndexError);
  CHECK_THROWS_AS(take(t, 2, std::vector<std::int64_t>{0}), IndexError);
}
