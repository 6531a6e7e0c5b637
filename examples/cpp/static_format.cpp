// A format known at compile time: only the branch that fits is compiled, and a mistake in the text is an error of the
// compiler.
#include <cstdio>
#include <cstdlib>

#include <strata/strata.h>

template <class Format>
double sum_of_row(const strata::Tensor& t, std::int64_t row) {
  const strata::Buffer values = t.values();
  double sum = 0;
  if constexpr (Format::isCSR()) {
    const strata::Buffer pos = t.pos(1);
    for (std::int64_t p = pos.index(row); p < pos.index(row + 1); ++p)
      sum += values.as<double>()[static_cast<std::size_t>(p)];
  } else {
    static_assert(Format::isCOO(), "written for CSR and COO");
    const strata::Buffer rows = t.crd(0);
    for (std::int64_t p = 0; p < rows.size; ++p)
      if (rows.index(p) == row) sum += values.as<double>()[static_cast<std::size_t>(p)];
  }
  return sum;
}

int main() {
  using Csr = strata::StaticFormat<"(i, j) -> (i : dense, j : compressed)">;
  using Coo = strata::StaticFormat<"COO">;
  static_assert(Csr::isCSR() && !Coo::isCSR());
  const strata::Tensor coo =
      strata::parse_matrix_market("%%MatrixMarket matrix coordinate real general\n2 3 3\n1 1 1\n1 3 2\n2 2 4\n");
  const strata::Tensor csr = strata::convert(coo, Csr::format());
  std::printf("%g %g\n", sum_of_row<Csr>(csr, 0), sum_of_row<Coo>(coo, 0));
  return sum_of_row<Csr>(csr, 0) == 3 && sum_of_row<Coo>(coo, 0) == 3 ? EXIT_SUCCESS : EXIT_FAILURE;
}
