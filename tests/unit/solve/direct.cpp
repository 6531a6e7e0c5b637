// Factorizations through the public header: known systems, and what is refused.
#include <doctest/doctest.h>

#include <array>
#include <cmath>
#include <cstdlib>

#include "strata/operators.h"
#include "strata/ops.h"
#include "strata/solve.h"

using namespace strata;

namespace {

/// The five-point stencil on a grid of n x n, by coordinates.
Tensor stencil(std::int64_t n, const char* format = "CSR") {
  std::vector<std::int64_t> rows, columns;
  std::vector<double> values;
  const auto add = [&](std::int64_t i, std::int64_t j, double v) {
    rows.push_back(i), columns.push_back(j), values.push_back(v);
  };
  for (std::int64_t y = 0; y < n; ++y)
    for (std::int64_t x = 0; x < n; ++x) {
      const std::int64_t i = y * n + x;
      add(i, i, 4);
      if (x > 0) add(i, i - 1, -1);
      if (x + 1 < n) add(i, i + 1, -1);
      if (y > 0) add(i, i - n, -1);
      if (y + 1 < n) add(i, i + n, -1);
    }
  return from_coo({rows, columns}, values, {n * n, n * n}, format);
}

std::vector<double> numbers(std::int64_t n) {
  std::vector<double> x(static_cast<std::size_t>(n));
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = std::sin(static_cast<double>(i + 1));
  return x;
}

double distance(const Tensor& x, const std::vector<double>& y) {
  double far = 0;
  for (std::size_t i = 0; i < y.size(); ++i)
    far = std::max(far, std::abs(x({static_cast<std::int64_t>(i)}).to_double() - y[i]));
  return far;
}

}  // namespace

TEST_CASE("every method solves the same system") {
  const Tensor a = stencil(7);
  const std::vector<double> x = numbers(49);
  const Tensor b = matmul(a, Tensor::dense({49}, x));
  for (const Direct method :
       {Direct::automatic, Direct::banded, Direct::cholesky, Direct::ldlt, Direct::lu, Direct::qr}) {
    if (method != Direct::banded && !has_factorizations()) continue;
    CAPTURE(std::string(name_of(method)));
    SolveInfo info;
    CHECK(distance(solve(a, b, {.method = method}, &info), x) < 1e-12);
    CHECK(info.converged);
    CHECK(info.relative < 1e-14);
    CHECK(distance(solve(to_dense(a), b, {.method = method}), x) < 1e-12);
    // In float32, given float64.
    CHECK(distance(solve(a, b, {.method = method, .dtype = DType::f32}), x) < 1e-4);
  }
}

TEST_CASE("methods have names") {
  for (const char* name :
       {"auto", "diagonal", "lower", "upper", "tridiagonal", "banded", "cholesky", "ldlt", "lu", "qr"})
    CHECK(name_of(parse_direct(name)) == name);
  CHECK_THROWS_WITH_AS(static_cast<void>(parse_direct("LUU")), doctest::Contains("write 'lu'"), PlanError);
}

TEST_CASE("a factorization is kept for other values in the same places") {
  if (!has_factorizations()) return;
  const Tensor a = stencil(12);
  Factorization f(a);
  CHECK(f.kind() == Direct::cholesky);
  CHECK_THROWS_AS(static_cast<void>(f.solve(Tensor::dense({144}, numbers(144)))), PlanError);
  f.factorize();
  const Tensor b = matmul(a, Tensor::dense({144}, numbers(144)));
  CHECK(distance(f.solve(b), numbers(144)) < 1e-12);
  f.reset(2.0 * a);
  CHECK_FALSE(f.is_factorized());
  f.factorize();
  CHECK(distance(f.solve(2.0 * b), numbers(144)) < 1e-12);
  CHECK(f.analyses() == 1);
  CHECK_THROWS_AS(f.reset(stencil(5)), PlanError);
  const auto [sign, log] = f.logdet();
  CHECK(sign.real() == doctest::Approx(1));
  CHECK(log > 144 * std::log(2.0));
}

TEST_CASE("singular matrices are refused, each with its reason") {
  const auto text = [](const Tensor& a, Direct method = Direct::automatic) -> std::string {
    try {
      static_cast<void>(solve(a, Tensor::dense({a.shape()[0]}, numbers(a.shape()[0])), {.method = method}));
    } catch (const SingularError& e) { return e.what(); }
    return "";
  };
  CHECK(text(from_coo({{0, 1}, {0, 1}}, {1.0, 0.0}, {2, 2})).find("pivot 2 of 2 is 0") != std::string::npos);
  CHECK(text(from_coo({{0, 0, 1, 2}, {0, 1, 1, 0}}, {1.0, 1.0, 1.0, 1.0}, {3, 3}), Direct::banded).find("pivot") !=
        std::string::npos);
  if (has_factorizations())
    CHECK(
        text(from_coo({{0, 0, 1, 2}, {0, 1, 1, 0}}, {1.0, 1.0, 1.0, 1.0}, {3, 3}), Direct::lu).find("at most 2 of 3") !=
        std::string::npos);
}

TEST_CASE("copies of a factorization share it") {
  Factorization f(stencil(4), {.method = Direct::banded});
  const Factorization g = f;
  f.factorize();
  CHECK(g.is_factorized());
}

TEST_CASE("libraries are looked for when they are named") {
  CHECK(parse_direct_library("umfpack") == DirectLibrary::umfpack);
  CHECK_THROWS_WITH_AS(static_cast<void>(parse_direct_library("pardisso")), doctest::Contains("write 'pardiso'"),
                       PlanError);
  const Tensor a = stencil(5), b = Tensor::dense({25}, numbers(25));
  CHECK_THROWS_WITH_AS(solve(to_dense(a), b, {.library = DirectLibrary::umfpack}), doctest::Contains("a sparse matrix"),
                       PlanError);
  const char* before = std::getenv("STRATA_SUITESPARSE");
  const std::string kept = before ? before : "";
  setenv("STRATA_SUITESPARSE", "off", 1);
  CHECK_THROWS_WITH_AS(solve(a, b, {.library = DirectLibrary::cholmod}),
                       doctest::Contains("apt-get install libcholmod3"), Unsupported);
  if (before) setenv("STRATA_SUITESPARSE", kept.c_str(), 1);
  else unsetenv("STRATA_SUITESPARSE");
}

TEST_CASE("triangles are solved from either end") {
  // Every third row waits for the two before.
  const std::int64_t n = 60'000;
  std::vector<std::int64_t> rows, columns;
  std::vector<double> values;
  const auto add = [&](std::int64_t i, std::int64_t j, double v) {
    rows.push_back(i), columns.push_back(j), values.push_back(v);
  };
  for (std::int64_t i = 0; i < n; ++i) {
    for (std::int64_t back = i % 3; back > 0; --back) add(i, i - back, 0.25 * static_cast<double>(back));
    add(i, i, 2);
  }
  const Tensor a = from_coo({rows, columns}, values, {n, n}, "CSR");
  const std::vector<double> x = numbers(n);
  const Tensor known = Tensor::dense({n}, x);
  for (const Direct method : {Direct::lower, Direct::automatic}) {
    Factorization f(a, {.method = method});
    f.factorize();
    CHECK(f.kind() == Direct::lower);
    CHECK(distance(f.solve(matmul(a, known)), x) < 1e-14);
    CHECK(distance(f.solve(matmul(a.transpose(std::array{1, 0}), known), Turn::transposed), x) < 1e-14);
  }
}
