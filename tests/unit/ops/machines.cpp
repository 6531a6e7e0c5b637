// On every processor that was measured the same products: what is known of it decides how, never what comes out.
#include "machine/machine.h"

#include <doctest/doctest.h>

#include <optional>

#include "strata/ops.h"

using namespace strata;
using namespace strata::testing;

namespace {

/// A matrix of whole numbers by coordinates, in CSR. `column(i, k)`: of the k-th element of row i, ascending.
template <class F> Tensor matrix(std::int64_t rows, std::int64_t columns, DType dtype, int per_row, const F& column) {
  std::vector<std::int32_t> pos{0}, crd;
  std::vector<double> values;
  for (std::int64_t i = 0; i < rows; ++i) {
    for (int k = 0; k < per_row + (i % 97 == 0 ? 60 : 0); ++k) {
      const std::int64_t j = column(i, k);
      if (j >= columns || (!crd.empty() && static_cast<std::size_t>(pos.back()) < crd.size() && j <= crd.back()))
        continue;
      crd.push_back(static_cast<std::int32_t>(j));
      values.push_back(static_cast<double>((i + 3 * k) % 5) - 2);
    }
    pos.push_back(static_cast<std::int32_t>(crd.size()));
  }
  RawArrays arrays;
  arrays.pos[1] = Buffer::copy_of(std::span<const std::int32_t>(pos));
  arrays.crd[1] = Buffer::copy_of(std::span<const std::int32_t>(crd));
  arrays.values = Buffer::copy_of(std::span<const double>(values)).cast(dtype);
  return make_tensor(parse_format("CSR"), {rows, columns}, std::move(arrays));
}

Tensor dense(std::int64_t rows, std::int64_t columns, DType dtype) {
  std::vector<double> v(static_cast<std::size_t>(rows * columns));
  for (std::size_t k = 0; k < v.size(); ++k) v[k] = static_cast<double>(k * 7 % 5) - 2;
  const std::int64_t strides[] = {columns, 1};
  return borrow_dense(Buffer::copy_of(std::span<const double>(v)).cast(dtype), {rows, columns}, strides);
}

std::vector<double> numbers(const Tensor& t) {
  const Buffer v = t.part().values.cast(DType::f64);
  const auto all = v.as<double>();
  return {all.begin(), all.end()};
}

}  // namespace

TEST_CASE("machines: products are the same on all of them") {
  const std::int64_t n = 12000;
  for (const DType dtype : {DType::f32, DType::f64}) {
    const std::vector<Tensor> matrices{
        matrix(n, n, dtype, 9, [&](std::int64_t i, int k) { return i + k - 4 < 0 ? n : i + k - 4; }),  // a band
        matrix(n, n, dtype, 9, [&](std::int64_t i, int k) { return (i * 7919 + k * 1301) % n; }),      // no order
        matrix(n, n, dtype, 9, [&](std::int64_t i, int k) { return i / 8 * 8 + 40 * k; })};            // blocks
    for (const Tensor& a : matrices)
      for (const std::int64_t columns : {1, 16, 64}) {
        const Tensor x = dense(n, columns, dtype);
        std::optional<std::vector<double>> want;
        for (const Machine& known : known_machines()) {
          Machine m = known;
          m.vector_bytes = machine().vector_bytes;  // what this processor can run
          const UseMachine use(m);
          const std::vector<double> got = numbers(matmul(a, x, {}));
          if (!want) want = got;
          CAPTURE(known.kind);
          CHECK(got == *want);
        }
      }
  }
}
