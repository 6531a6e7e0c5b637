// docs/tutorial.md in C++: from a format text to a running kernel, step by step.
#include <cstdio>
#include <cstdlib>
#include <vector>

#include <strata/strata.h>

int main() {
  // A format is a text.
  const strata::Format csr = strata::parse_format("(i, j) -> (i: dense, j: compressed)");
  std::printf("%s is %s\n", csr.to_string().c_str(), csr.name().c_str());

  // A tensor is its type and its buffers.
  std::vector<double> array = {0, 2, 0, 0, 0, 0, 1, 0, 3};
  const std::vector<std::int64_t> row_major = {3, 1};
  const strata::Tensor dense = strata::borrow_dense(strata::Buffer::borrow<double>(array), {3, 3}, row_major);
  const strata::Tensor a = strata::from_dense(dense, csr);
  std::printf("%s\n", strata::to_string(a).c_str());

  // An expression says what, not how.
  const int ranks[] = {2, 1};
  const strata::Einsum product = strata::parse_einsum("ij,j->i", ranks);
  std::printf("%s\n", product.to_string().c_str());

  // A plan looks at types, never at data, and picks a kernel or makes one.
  std::vector<double> ones = {1, 10, 100};
  const std::vector<std::int64_t> unit = {1};
  const strata::Tensor x = strata::borrow_dense(strata::Buffer::borrow<double>(ones), {3}, unit);
  const strata::TensorType types[] = {a.type(), x.type()};
  const strata::Plan plan = strata::make_plan(product, types);
  std::printf("%s\n", plan.explain().c_str());

  // What the compiler makes of the expression: graph, schedule, loop IR, C text. No data needed.
  std::printf(
      "%s\n",
      strata::show_expression("y(i) = A(i,j) * x(j)", {{"A", {.format = "CSR", .dtype = strata::DType::f64}}}).c_str());

  // Run it.
  const strata::Tensor operands[] = {a, x};
  const strata::Tensor y = plan.run(operands);
  const double expected[] = {20, 0, 301};
  for (std::int64_t i = 0; i < 3; ++i)
    if (y.get(std::vector<std::int64_t>{i})->to_double() != expected[i]) return EXIT_FAILURE;
  std::printf("y = [20, 0, 301]\n");
  return EXIT_SUCCESS;
}
