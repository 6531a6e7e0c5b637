// Poisson's equation on a line, directly and by iteration.
#include <strata/strata.h>

#include <cmath>
#include <cstdlib>
#include <iostream>

using namespace strata;

int main() {
  const std::int64_t n = 1000;
  std::vector<std::int64_t> rows, columns;
  std::vector<double> values;
  for (std::int64_t i = 0; i < n; ++i)
    for (std::int64_t j = std::max<std::int64_t>(i - 1, 0); j <= std::min(i + 1, n - 1); ++j)
      rows.push_back(i), columns.push_back(j), values.push_back(i == j ? 2.0 : -1.0);
  const Tensor a = from_coo({rows, columns}, values, {n, n}, "CSR");
  const Tensor b = Tensor::dense({n}, std::vector<double>(n, 1.0));

  const Tensor x = solve(a, b);  // by the structure of a
  Factorization f(a);            // or step by step
  f.factorize();
  SolveInfo info;
  const Tensor y = f.solve(b, Turn::none, &info);
  std::cout << info.method << ": " << info.relative << "\n";

  KrylovOptions options{.rtol = 1e-10};
  options.preconditioner = ic0(a);
  const KrylovResult r = solve_iteratively(Krylov::cg, as_operator(a), b, options);
  std::cout << r.info.method << ": " << r.info.iterations << " iterations, " << r.info.relative << "\n";

  // The middle of a string of n beads: n^2 / 8 and a little.
  const double middle = x({n / 2}).to_double(), expected = static_cast<double>((n / 2 + 1) * (n / 2)) / 2;
  const bool good = std::abs(middle - expected) < 1e-6 * expected && equal(x, y) && r.info.converged &&
                    std::abs(r.x({n / 2}).to_double() - expected) < 1e-5 * expected;
  return good ? EXIT_SUCCESS : EXIT_FAILURE;
}
