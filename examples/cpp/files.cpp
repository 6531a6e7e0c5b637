// Files: any tensor as it is stored, and Matrix Market.
#include <strata/strata.h>

#include <cstdio>
#include <iostream>

using namespace strata;

int main() {
  const Tensor a = Tensor::csr(3, 4, {0, 2, 3, 4}, {0, 3, 1, 3}, std::vector<double>{1.5, 2, -2, 4});

  save("a.st", a);
  save("both.st", {{"a", a}, {"blocks", convert(a, "BSR(2, 2)")}});
  const Tensor back = load("a.st");
  for (const auto& [name, t] : load_all("both.st", {.verify = Verify::structure}))
    std::cout << name << "  " << t.nse() << "\n";
  write_matrix_market("a.mtx", a);
  const Tensor read = read_matrix_market("a.mtx");

  const bool right = same_storage(back, a) && equal(read, a);
  for (const char* path : {"a.st", "both.st", "a.mtx"}) std::remove(path);
  return right ? 0 : 1;
}
