// Iterations over tensors and over functions, and their sums with any number of threads.
#include <doctest/doctest.h>

#include <cmath>

#include "backend/pool.h"
#include "strata/ops.h"
#include "strata/solve.h"

using namespace strata;

namespace {

/// (-1, 4, -1) along the diagonal, and -1 far from it.
Tensor matrix(std::int64_t n) {
  std::vector<std::int64_t> rows, columns;
  std::vector<double> values;
  for (std::int64_t i = 0; i < n; ++i)
    for (const std::int64_t j : {i - 100, i - 1, i, i + 1, i + 100})
      if (j >= 0 && j < n) rows.push_back(i), columns.push_back(j), values.push_back(i == j ? 4.1 : -1);
  return from_coo({rows, columns}, values, {n, n}, "CSR");
}

Tensor right(std::int64_t n) {
  std::vector<double> x(static_cast<std::size_t>(n));
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = std::cos(static_cast<double>(3 * i));
  return Tensor::dense({n}, std::move(x));
}

double residual(const Tensor& a, const Tensor& x, const Tensor& b) {
  const Tensor ax = matmul(a, x);
  double sum = 0, all = 0;
  for (std::int64_t i = 0; i < b.shape()[0]; ++i) {
    const double bi = b({i}).to_double(), r = bi - ax({i}).to_double();
    sum += r * r, all += bi * bi;
  }
  return std::sqrt(sum / all);
}

}  // namespace

TEST_CASE("every method converges, and says how far") {
  const Tensor a = matrix(3000), b = right(3000);
  for (const Krylov method :
       {Krylov::cg, Krylov::minres, Krylov::bicgstab, Krylov::gmres, Krylov::lsqr, Krylov::lsmr}) {
    KrylovOptions options{.rtol = 1e-10, .btol = 1e-10};
    const KrylovResult plain = solve_iteratively(method, as_operator(a), b, options);
    CHECK(plain.info.converged);
    CHECK(plain.info.relative < 1e-8);
    CHECK(plain.info.relative == doctest::Approx(residual(a, plain.x, b)).epsilon(1e-3));
    if (method == Krylov::lsqr || method == Krylov::lsmr) continue;
    options.preconditioner = ilu0(a);
    const KrylovResult better = solve_iteratively(method, as_operator(a), b, options);
    CHECK(better.info.converged);
    CHECK(better.info.iterations < plain.info.iterations);
    options.max_iterations = 2;
    const KrylovResult less = solve_iteratively(method, as_operator(a), b, options);
    CHECK_FALSE(less.info.converged);
    CHECK(less.info.iterations == 2);
    CHECK(less.info.stopped == "2 iterations were not enough");
  }
}

TEST_CASE("an operator is a function") {
  LinearOperator twice{.rows = 5, .columns = 5, .apply = [](const Tensor& x, const Tensor& y) {
                         for (std::size_t i = 0; i < 5; ++i)
                           y.values().as<double>()[i] = 2 * x.values().as<double>()[i];
                       }};
  std::int64_t calls = 0;
  const KrylovResult r = solve_iteratively(Krylov::cg, twice, right(5),
                                           {.callback = [&](std::int64_t, double, const Tensor&) { ++calls; }});
  CHECK(r.info.converged);
  CHECK(r.x({2}).to_double() == doctest::Approx(std::cos(6.0) / 2));
  CHECK(calls == r.info.iterations);
  CHECK_THROWS_WITH_AS(static_cast<void>(solve_iteratively(Krylov::lsqr, twice, right(5))),
                       doctest::Contains("adjoint"), TensorError);
}

TEST_CASE("sums are the same with any number of threads") {
  const std::int64_t n = 70'000;  // some chunks
  const Tensor a = matrix(n), b = right(n);
  for (const Krylov method : {Krylov::cg, Krylov::gmres, Krylov::bicgstab, Krylov::lsmr}) {
    std::vector<Tensor> found;
    for (const int threads : {1, 2, 7}) {
      set_thread_count(threads);
      found.push_back(solve_iteratively(method, as_operator(a), b, {.rtol = 1e-6}).x);
    }
    set_thread_count(0);
    CHECK(same_storage(found[0], found[1]));
    CHECK(same_storage(found[0], found[2]));
  }
}
