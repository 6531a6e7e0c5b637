// Your own arrays as a tensor, without a copy; another format in one line; a product, and why it ran as it did.
#include <cstdio>
#include <cstdlib>
#include <vector>

#include <strata/strata.h>

int main() {
  using namespace strata;
  std::vector<std::int32_t> pos = {0, 2, 4, 5}, crd = {0, 7, 2, 3, 7};
  std::vector<double> values = {1, 2, 3, 4, 5}, ones(8, 1.0);
  const std::vector<std::int64_t> unit_stride = {1};
  const Tensor x = borrow_dense(Buffer::borrow<double>(ones), {8}, unit_stride);

  RawArrays mine;  // your own arrays: checked, not copied
  mine.pos[1] = Buffer::borrow<std::int32_t>(pos);
  mine.crd[1] = Buffer::borrow<std::int32_t>(crd);
  mine.values = Buffer::borrow<double>(values);
  const Tensor a = make_tensor(parse_format("CSR"), {3, 8}, mine);
  const Tensor b = convert(a, parse_format("(i, j) -> (i: dense, j: delta(2))"));  // any storage
  const Tensor y = matmul(b, x);                                                   // the algorithm is written once

  std::printf("%s\n\n%s\n", to_string(b).c_str(), draw_storage_text(b, 80).c_str());

  const TensorType types[] = {b.type(), x.type()};
  const int ranks[] = {2, 1};
  const Plan plan = make_plan(parse_einsum("ij,j->i", ranks), types);
  std::printf("%s\n", plan.explain().c_str());

  // Three checks: the arrays were borrowed, the product is right, and a mistake says how to mend it.
  if (a.part().values.data != values.data()) return EXIT_FAILURE;
  const double expected[] = {3, 7, 5};
  for (std::int64_t i = 0; i < 3; ++i)
    if (y.get(std::vector<std::int64_t>{i})->to_double() != expected[i]) return EXIT_FAILURE;
  try {
    parse_format("(i, j) -> (i: dense, j: compresed)");
  } catch (const FormatError& e) {
    std::printf("%s\n", e.what());
    return EXIT_SUCCESS;
  }
  return EXIT_FAILURE;
}
