// The algorithm is one thing, the order of its loops another: a schedule arranges them, or says what forbids it.
#include <cstdio>
#include <cstdlib>
#include <vector>

#include <strata/strata.h>

int main() {
  using namespace strata;
  const std::int64_t n = 300;
  std::vector<std::int64_t> rows, columns;
  std::vector<double> values;
  for (std::int64_t i = 0; i < n; ++i)
    for (std::int64_t k = 1; k <= 3; ++k) {
      rows.push_back(i);
      columns.push_back((i * k + k) % n);
      values.push_back(static_cast<double>(i % 7 + k));
    }
  const Tensor a = from_coo({rows, columns}, values, {n, n}, "CSR");
  const std::map<std::string, Tensor> operands = {{"A", a}, {"B", convert(a, "CSC")}};
  const Assignment product = parse_assignment("C(i,k) = A(i,j) * B(j,k)");

  EvaluateOptions options;
  options.schedule = Schedule().split("i", "io", "ii", 32).reorder({"io", "ii", "j", "k"}).parallelize("io");
  std::printf("%s\n", explain(product, operands, options).c_str());
  const Tensor c = evaluate(product, operands, options);

  // Two checks: the result is what it is without a schedule, and a schedule that would change it is refused.
  if (!same_storage(c, evaluate(product, operands))) return EXIT_FAILURE;
  options.schedule = parse_schedule("vectorize(j)");
  try {
    evaluate(product, operands, options);
  } catch (const ScheduleError& e) {
    std::printf("%s\n", e.what());
    return EXIT_SUCCESS;
  }
  return EXIT_FAILURE;
}
