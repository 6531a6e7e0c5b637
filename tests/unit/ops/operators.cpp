// Arithmetic in C++ against dense arrays, and what is printed.
#include <doctest/doctest.h>

#include <sstream>

#include "strata/operators.h"
#include "strata/ops.h"
#include "strata/version.h"

using namespace strata;

namespace {

std::vector<double> all(const Tensor& t) {
  const Tensor dense = to_dense(t);
  const Buffer values = dense.values().cast(DType::f64);
  const auto span = values.as<double>();
  return {span.begin(), span.end()};
}

using Numbers = std::vector<double>;

}  // namespace

TEST_CASE("operators") {
  const Tensor a = Tensor::csr(2, 3, {0, 2, 3}, {0, 2, 1}, {1.0, 2.0, 4.0});
  const Tensor b = convert(Tensor::csr(2, 3, {0, 1, 3}, {2, 0, 1}, {10.0, 20.0, 30.0}), "COO");
  CHECK(all(a + b) == Numbers{1, 0, 12, 20, 34, 0});
  CHECK(all(a - b) == Numbers{1, 0, -8, -20, -26, 0});
  CHECK(all(a * b) == Numbers{0, 0, 20, 0, 120, 0});
  CHECK(all(-a) == Numbers{-1, 0, -2, 0, -4, 0});
  CHECK(all(2 * a) == Numbers{2, 0, 4, 0, 8, 0});
  CHECK(all(a * 0.5) == Numbers{0.5, 0, 1, 0, 2, 0});
  CHECK(all(a / 2) == Numbers{0.5, 0, 1, 0, 2, 0});
  CHECK(all(1 + a) == Numbers{2, 1, 3, 1, 5, 1});
  CHECK(all(a - 1) == Numbers{0, -1, 1, -1, 3, -1});
  CHECK(all(1 - a) == Numbers{0, 1, -1, 1, -3, 1});
  CHECK(all(a / Tensor::dense({3}, {1.0, 2.0, 4.0})) == Numbers{1, 0, 0.5, 0, 2, 0});
  CHECK(all(a * Tensor::dense({2, 1}, {10.0, 100.0})) == Numbers{10, 0, 20, 0, 400, 0});
  CHECK((2 * a).format() == a.format());
  CHECK((a * b).nse() == 2);
  CHECK((1 + a).fill().to_double() == 1);
  CHECK(all(matmul(a, Tensor::dense({3}, {1.0, 2.0, 3.0}))) == Numbers{7, 8});
  CHECK(all(einsum("ij,j->i", {a, Tensor::dense({3}, {1.0, 2.0, 3.0})})) == Numbers{7, 8});
  CHECK_THROWS_AS(a + Tensor::dense({2}, {1.0, 2.0}), ExpressionError);
}

TEST_CASE("numbers take the tensor's dtype, or promote") {
  const Tensor f = Tensor::csr(1, 2, {0, 1}, {0}, {1.0f}), i = Tensor::csr(1, 2, {0, 1}, {0}, {3});
  CHECK((2 * f).dtype() == DType::f32);
  CHECK((2.5 * f).dtype() == DType::f32);
  CHECK((2 * i).dtype() == DType::i32);
  CHECK((0.5 * i).dtype() == DType::f64);
  CHECK((i / 2).dtype() == DType::f64);
  CHECK((f + i).dtype() == DType::f64);
}

TEST_CASE("vectors in, texts as formats") {
  const std::vector<std::int64_t> rows = {1, 0, 1}, columns = {2, 0, 2};
  const Tensor a = from_coo({rows, columns}, {1.0, 2.0, 4.0}, {2, 3}, "CSR");
  CHECK(all(a) == Numbers{2, 0, 0, 0, 0, 5});
  CHECK(from_coo({rows, columns}, {1.0, 2.0, 4.0}, {2, 3}).format().is("COO"));
  CHECK(convert(a, "(i, j) -> (i: dense, j: delta(2))").format().is("delta(2)"));
  CHECK(from_dense(to_dense(a), "DIA").format().is("DIA"));
  CHECK_THROWS_AS(convert(a, "CRS"), FormatError);
}

TEST_CASE("what std::cout prints") {
  std::ostringstream out;
  const Tensor a = Tensor::csr(1, 2, {0, 1}, {1}, {1.5});
  out << a({0, 1}) << "|" << a.format() << "|" << a.dtype() << "|" << a;
  CHECK(out.str() == "1.5|(i, j) -> (i : dense, j : compressed)|float64|" + to_string(a));
}

TEST_CASE("which Strata this is") {
  static_assert(STRATA_VERSION_NUMBER >= STRATA_VERSION_OF(0, 1, 0));
  CHECK(std::string(STRATA_VERSION) == std::to_string(STRATA_VERSION_MAJOR) + "." +
                                           std::to_string(STRATA_VERSION_MINOR) + "." +
                                           std::to_string(STRATA_VERSION_PATCH));
}
