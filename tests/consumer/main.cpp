// Own arrays in, another format, a product, a kernel of the build, and an error that crosses the library's border with
// its type.
#include <strata/strata.h>

#include <iostream>
#include <vector>

#include "row_products.h"

int main() {
  using namespace strata;
  // [[1 0 2] [0 0 3]] as coordinates.
  const std::vector<std::int64_t> rows = {0, 0, 1}, columns = {0, 2, 2};
  const std::vector<double> values = {1, 2, 3};
  const Tensor a = from_coo({rows, columns}, values, {2, 3}, "CSR");
  const Tensor x = Tensor::dense({3}, {1.0, 1.0, 1.0});
  const Tensor y = matmul(convert(a, "BSR(2, 2)"), x);
  std::cout << "y = [" << y({0}) << " " << y({1}) << "]\n";
  if (y({0}).to_double() != 3 || y({1}).to_double() != 3) return 1;

  // As the first comment of row_products.c has it.
  double result[2] = {};
  const Buffer pos = a.pos(1), crd = a.crd(1), stored = a.values(), dense = x.values();
  void* const buffers[] = {pos.data, crd.data, stored.data, dense.data, result};
  const long long scalars[] = {2, 0};
  if (row_products(buffers, scalars, 0, 2, 0) != 0 || result[0] != 3 || result[1] != 3) return 1;
  static_assert(STRATA_VERSION_NUMBER >= STRATA_VERSION_OF(0, 1, 0));
  try {
    parse_format("(i, j) -> (i: dense, j: compresed)");
  } catch (const FormatError& error) {
    std::cout << error.what() << "\n";
    return error.problem().fix.find("compressed") == std::string::npos;
  }
  return 1;
}
