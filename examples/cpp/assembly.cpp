// Matrices from triplets: gathered by threads, and the same places filled again and again, as of finite elements.
#include <cstdlib>
#include <iostream>
#include <thread>
#include <vector>

#include <strata/strata.h>

int main() {
  using namespace strata;
  // A bar of n elements between n + 1 nodes: each adds [[1, -1], [-1, 1]] times its stiffness.
  const std::int64_t n = 1000, chunks = 4;
  const auto element = [](std::int64_t e, std::vector<std::int64_t>& rows, std::vector<std::int64_t>& columns) {
    for (const std::int64_t i : {e, e + 1})
      for (const std::int64_t j : {e, e + 1}) rows.push_back(i), columns.push_back(j);
  };

  Builder builder({n + 1, n + 1});
  std::vector<std::thread> threads;
  for (std::int64_t chunk = 0; chunk < chunks; ++chunk)
    threads.emplace_back([&, chunk] {
      std::vector<std::int64_t> rows, columns;
      std::vector<double> values;
      for (std::int64_t e = n * chunk / chunks; e < n * (chunk + 1) / chunks; ++e) {
        element(e, rows, columns);
        values.insert(values.end(), {1, -1, -1, 1});
      }
      builder.add({rows, columns}, values, chunk);  // the number of the chunk: the same bits on every run
    });
  for (auto& thread : threads) thread.join();
  const Tensor a = builder.build("CSR");

  std::vector<std::int64_t> rows, columns;
  for (std::int64_t e = 0; e < n; ++e) element(e, rows, columns);
  const Assembly stiffness({rows, columns}, {n + 1, n + 1}, "CSR");  // once: where each value goes
  std::vector<double> values;
  for (std::int64_t e = 0; e < n; ++e) values.insert(values.end(), {2, -2, -2, 2});
  const Tensor b = stiffness(values);  // again and again: one pass over the values
  std::cout << "a(1, 1) = " << a({1, 1}) << ", b(1, 1) = " << b({1, 1}) << ", " << b.nse() << " stored\n";
  return equal(b, 2 * a) && b.nse() == 3 * n + 1 ? EXIT_SUCCESS : EXIT_FAILURE;
}
