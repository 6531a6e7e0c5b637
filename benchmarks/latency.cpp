// What a planned product of a 100 x 100 CSR matrix and a vector costs from C++: the goal is less than 1 us.
//
//     cmake --build build --target latency && build/latency
#include <strata/strata.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <vector>

namespace {

/// The least time of one call, in microseconds.
template <class F> double best(const F& call) {
  using Clock = std::chrono::steady_clock;
  double least = 1e9;
  for (int batch = 0; batch < 2000; ++batch) {
    const auto start = Clock::now();
    for (int k = 0; k < 100; ++k) call();
    least = std::min(least, std::chrono::duration<double, std::micro>(Clock::now() - start).count() / 100);
  }
  return least;
}

strata::Tensor dense(const strata::Shape& shape, double value) {
  std::int64_t size = 1;
  for (const auto extent : shape) size *= extent;
  strata::RawArrays arrays;
  arrays.values = strata::Buffer::allocate(strata::DType::f64, size);
  std::fill_n(static_cast<double*>(arrays.values.data), size, value);
  return strata::make_tensor(strata::parse_format("dense", static_cast<int>(shape.size())), shape, std::move(arrays),
                             {}, false);
}

}  // namespace

int main() {
  using namespace strata;
  const Tensor full = dense({100, 100}, 0);
  auto* values = static_cast<double*>(full.part().values.data);
  for (int k = 0; k < 500; ++k) values[k * 7919 % 10000] = k + 1;
  const Tensor matrix = from_dense(full, parse_format("CSR")), x = dense({100}, 1), y = dense({100}, 0);
  const std::array operands{matrix, x};
  const std::array types{matrix.type(), x.type()};
  const Plan plan = make_plan(matmul_einsum(2, 1, {}), types);
  const Scalar one = Scalar::of(1.0), zero = Scalar::of(0.0);
  Matmul planned(matrix, x, y, one, zero);
  planned.plan();
  std::printf("plan.run(operands, out, 1, 0)   %6.3f us   goal 1.000 us\n",
              best([&] { plan.run(operands, y, one, zero); }));
  std::printf("plan.run(operands)              %6.3f us\n", best([&] { static_cast<void>(plan.run(operands)); }));
  std::printf("Matmul::execute()               %6.3f us\n", best([&] { static_cast<void>(planned.execute()); }));
  std::printf("matmul(a, x)                    %6.3f us\n", best([&] { static_cast<void>(matmul(matrix, x)); }));
}
