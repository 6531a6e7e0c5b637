// Own arrays in, another format, a product, and an error that crosses the library's border with its type.
#include <strata/strata.h>

#include <cstdio>
#include <vector>

int main() {
  using namespace strata;
  // [[1 0 2] [0 0 3]] as coordinates.
  const std::vector<std::int64_t> rows = {0, 0, 1}, columns = {0, 2, 2};
  const std::vector<double> values = {1, 2, 3}, ones = {1, 1, 1};
  const Buffer coordinates[] = {Buffer::borrow(std::span<const std::int64_t>(rows)),
                                Buffer::borrow(std::span<const std::int64_t>(columns))};
  const Tensor a = from_coo(coordinates, Buffer::borrow(std::span<const double>(values)), {2, 3}, parse_format("CSR"));
  const std::int64_t stride[] = {1};
  const Tensor x = borrow_dense(Buffer::borrow(std::span<const double>(ones)), {3}, stride);
  const Tensor y = to_dense(matmul(convert(a, parse_format("BSR(2, 2)")), x));
  const auto result = y.values().as<double>();
  std::printf("y = [%g %g]\n", result[0], result[1]);
  if (result[0] != 3 || result[1] != 3) return 1;
  try {
    parse_format("(i, j) -> (i: dense, j: compresed)");
  } catch (const FormatError& error) {
    std::printf("%s\n", error.what());
    return error.problem().fix.find("compressed") == std::string::npos;
  }
  return 1;
}
