// Your own arrays as a tensor; another format in one line; arithmetic, a product, and why it ran as it did.
#include <cstdlib>
#include <iostream>
#include <vector>

#include <strata/strata.h>

int main() {
  using namespace strata;
  std::vector<std::int32_t> pos = {0, 2, 4, 5}, crd = {0, 7, 2, 3, 7};
  std::vector<double> values = {1, 2, 3, 4, 5};

  const Tensor a = Tensor::csr(3, 8, pos, crd, values);              // checked; std::move(values) would not be copied
  const Tensor b = convert(a, "(i, j) -> (i: dense, j: delta(2))");  // any storage
  const Tensor x = Tensor::dense({8}, std::vector<double>(8, 1.0));
  const Tensor y = matmul(b, x);  // the algorithm is written once
  const Tensor c = 2 * a - a * b;
  std::cout << b << "\ny[1] = " << y({1}) << ", c[0, 7] = " << c({0, 7}) << "\n";

  std::cout << draw_storage_text(b, 80) << "\n";
  const TensorType types[] = {b.type(), x.type()};
  const int ranks[] = {2, 1};
  const Plan plan = make_plan(parse_einsum("ij,j->i", ranks), types);
  std::cout << plan.explain() << "\n";

  RawArrays mine;  // or borrowed, in any format: your arrays must outlive the tensor
  mine.pos[1] = Buffer::borrow<std::int32_t>(pos);
  mine.crd[1] = Buffer::borrow<std::int32_t>(crd);
  mine.values = Buffer::borrow<double>(values);
  const Tensor borrowed = make_tensor(parse_format("CSR"), {3, 8}, mine);

  // Three checks: the arrays were borrowed, the results are right, and a mistake says how to mend it.
  if (borrowed.part().values.data != values.data() || !equal(borrowed, b)) return EXIT_FAILURE;
  if (!equal(y, Tensor::dense({3}, {3.0, 7.0, 5.0})) || c({0, 7}).to_double() != 0) return EXIT_FAILURE;
  try {
    parse_format("(i, j) -> (i: dense, j: compresed)");
  } catch (const FormatError& e) {
    std::cout << e.what() << "\n";
    return EXIT_SUCCESS;
  }
  return EXIT_FAILURE;
}
