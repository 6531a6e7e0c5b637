// Tensors, formats and plans are shared by threads without a lock of the user's: what is filled in lazily (names, the
// count of stored elements, plans, compiled kernels, the pool) is raced for here. Also the program to run under
// ThreadSanitizer:
//   cmake -S . -B build/tsan -DCMAKE_BUILD_TYPE=RelWithDebInfo -DCMAKE_CXX_FLAGS=-fsanitize=thread -DSTRATA_JIT=OFF
//   cmake --build build/tsan --target test_ops && build/tsan/test_ops -tc="*threads*"
#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <string>
#include <thread>

#include "backend/pool.h"
#include "strata/evaluate.h"
#include "strata/ops.h"
#include "unit/plan/support.h"

using namespace strata;
using namespace strata::testing;

TEST_CASE("what is filled in lazily, by several threads at once") {
  Rng rng(11);
  const DenseArray a = random_array({90, 70}, 0.2, false, false, rng), x = random_array({70}, 1, false, false, rng);
  std::vector<double> y(90, 0.0);
  std::int64_t stored = 0;
  for (std::int64_t i = 0; i < 90; ++i)
    for (std::int64_t j = 0; j < 70; ++j) {
      const std::size_t at = a.at(std::vector<std::int64_t>{i, j});
      stored += a.stored[at] != 0;
      if (a.stored[at]) y[static_cast<std::size_t>(i)] += a.v[at].real() * x.v[static_cast<std::size_t>(j)].real();
    }

  const char* formats[] = {"CSR",       "CSC", "COO",    "DCSR",     "DIA",
                           "BSR(3, 3)", "ELL", "bitmap", "delta(3)", "BSR(2, 2) + COO"};
  std::atomic<int> wrong{0}, ready{0};
  constexpr int threads = 4, rounds = 3;
  for (int round = 0; round < rounds; ++round) {
    // Fresh objects in each round: every lazy thing is empty again.
    const Tensor csr = pack("CSR", a, DType::f64), vector = dense(x, DType::f64);
    std::vector<Tensor> made;
    for (const char* f : formats) made.push_back(convert(csr, parse_format(f, 2)));
    ready = 0;
    std::vector<std::thread> team;
    for (int t = 0; t < threads; ++t)
      team.emplace_back([&, t] {
        ++ready;
        while (ready < threads) std::this_thread::yield();
        for (std::size_t k = 0; k < made.size(); ++k) {
          const Tensor& one = made[(k + static_cast<std::size_t>(t)) % made.size()];
          wrong += one.nse() < stored;
          wrong += one.format().name().empty() != parse_format(one.format().to_string()).name().empty();
          wrong += one.type().to_string().empty();
          const std::int64_t corner[] = {89, 69};
          const auto element = one.get(corner);
          wrong += element && !csr.get(corner) && !element->is_zero();
          const char* target = formats[(k + static_cast<std::size_t>(2 * t)) % std::size(formats)];
          const Tensor other = convert(one, parse_format(target, 2));
          const Tensor product = matmul(t % 2 ? one : other, vector);
          const auto got = product.part().values.as<double>();
          for (std::size_t i = 0; i < y.size(); ++i) wrong += got[i] != y[i];  // small integers: exact in any order
        }
        if (t == 0) set_thread_count(1 + round % 3);
      });
    for (auto& t : team) t.join();
  }
  set_thread_count(0);
  CHECK(wrong == 0);
}

TEST_CASE("pieces of one sum of matrices, by several threads at once") {
  Rng rng(12);
  std::map<std::string, Tensor> terms;
  for (const char* name : {"A", "B", "C"})
    terms.emplace(name, pack("CSR", random_array({1500, 200}, 0.3, false, false, rng), DType::f64));
  const auto sum = [&](int threads) {
    set_thread_count(threads);
    const Tensor t = evaluate("S(i,j) = A(i,j) - B(i,j) + C(i,j)", terms);
    set_thread_count(0);
    return t;
  };
  const Tensor alone = sum(1);
  for (int round = 0; round < 20; ++round) {
    const Tensor together = sum(2 + round % 4);
    REQUIRE(together.nse() == alone.nse());
    const Part &a = alone.part(), &b = together.part();
    CHECK(std::ranges::equal(a.levels[1].pos.as<std::int32_t>(), b.levels[1].pos.as<std::int32_t>()));
    CHECK(std::ranges::equal(a.levels[1].crd.as<std::int32_t>(), b.levels[1].crd.as<std::int32_t>()));
    CHECK(std::ranges::equal(a.values.as<double>(), b.values.as<double>()));
  }
}
