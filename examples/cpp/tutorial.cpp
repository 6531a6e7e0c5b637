// docs/tutorial.md in C++: from a format text to a running kernel, step by step.
#include <cstdlib>
#include <iostream>
#include <vector>

#include <strata/strata.h>

int main() {
  // A format is a text.
  const strata::Format csr = strata::parse_format("(i, j) -> (i: dense, j: compressed)");
  std::cout << csr << " is " << csr.name() << "\n";

  // A tensor is its type and its buffers.
  const std::vector<double> array = {0, 2, 0, 0, 0, 0, 1, 0, 3};
  const strata::Tensor dense = strata::Tensor::dense({3, 3}, array);
  const strata::Tensor a = strata::from_dense(dense, csr);
  std::cout << a << "\n";

  // An expression says what, not how.
  const int ranks[] = {2, 1};
  const strata::Einsum product = strata::parse_einsum("ij,j->i", ranks);
  std::cout << product.to_string() << "\n";

  // A plan looks at types, never at data, and picks a kernel or makes one.
  const strata::Tensor x = strata::Tensor::dense({3}, {1.0, 10.0, 100.0});
  const strata::TensorType types[] = {a.type(), x.type()};
  const strata::Plan plan = strata::make_plan(product, types);
  std::cout << plan.explain() << "\n";

  // What the compiler makes of the expression: graph, schedule, loop IR, C text. No data needed.
  std::cout << strata::show_expression("y(i) = A(i,j) * x(j)", {{"A", {.format = "CSR", .dtype = strata::DType::f64}}})
            << "\n";

  // Run it.
  const strata::Tensor operands[] = {a, x};
  const strata::Tensor y = plan.run(operands);
  std::cout << "y = [" << y({0}) << ", " << y({1}) << ", " << y({2}) << "]\n";
  return equal(y, strata::Tensor::dense({3}, {20.0, 0.0, 301.0})) ? EXIT_SUCCESS : EXIT_FAILURE;
}
