// Your own arrays as a tensor, without a copy; another format in one line; a product, and why it ran as it did.
#include <cstdio>
#include <cstdlib>
#include <vector>

#include <strata/strata.h>

int main() {
  std::vector<std::int32_t> pos = {0, 2, 4, 5}, crd = {0, 7, 2, 3, 7};
  std::vector<double> values = {1, 2, 3, 4, 5}, ones(8, 1.0);
  const std::vector<std::int64_t> unit_stride = {1};
  const strata::Tensor x = strata::borrow_dense(strata::Buffer::borrow<double>(ones), {8}, unit_stride);

  strata::RawArrays mine;  // your own arrays: checked, not copied
  mine.pos[1] = strata::Buffer::borrow<std::int32_t>(pos), mine.crd[1] = strata::Buffer::borrow<std::int32_t>(crd), mine.values = strata::Buffer::borrow<double>(values);
  const strata::Tensor a = strata::make_tensor(strata::parse_format("CSR"), {3, 8}, mine);
  const strata::Tensor b = strata::convert(a, strata::parse_format("(i, j) -> (i: dense, j: delta(2))"));  // any storage
  const strata::Tensor y = strata::matmul(b, x);  // the algorithm is written once

  std::printf("%s\n\n%s\n", strata::to_string(b).c_str(), strata::draw_storage_text(b, 80).c_str());

  const strata::TensorType types[] = {b.type(), x.type()};
  const int ranks[] = {2, 1};
  const strata::Plan plan = strata::make_plan(strata::parse_einsum("ij,j->i", ranks), types);
  std::printf("%s\n", plan.explain().c_str());

  // Three checks: the arrays were borrowed, the product is right, and a mistake says how to mend it.
  if (a.part().values.data != values.data()) return EXIT_FAILURE;
  const double expected[] = {3, 7, 5};
  for (std::int64_t i = 0; i < 3; ++i)
    if (y.get(std::vector<std::int64_t>{i})->to_double() != expected[i]) return EXIT_FAILURE;
  try {
    strata::parse_format("(i, j) -> (i: dense, j: compresed)");
  } catch (const strata::FormatError& e) {
    std::printf("%s\n", e.what());
    return EXIT_SUCCESS;
  }
  return EXIT_FAILURE;
}
