// Hand-written products against a loop over the coordinate list: sizes that divide nothing, every path by number of
// columns.
#include <doctest/doctest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <random>

#include "backend/pool.h"
#include "kernels/registry.h"
#include "strata/ops.h"

using namespace strata;

namespace {

struct Triplets {
  std::vector<std::int64_t> row, column;
  std::vector<double> value;
};

// Small integers: every order of summation gives the same floats.
Triplets random_triplets(std::mt19937_64& rng, std::int64_t m, std::int64_t n, double density) {
  Triplets t;
  for (std::int64_t i = 0; i < m; ++i)
    for (std::int64_t j = 0; j < n; ++j)
      if (std::uniform_real_distribution<>(0, 1)(rng) < density) {
        t.row.push_back(i);
        t.column.push_back(j);
        t.value.push_back(static_cast<double>(static_cast<int>(rng() % 9) - 4));
      }
  return t;
}

template <class V> Tensor sparse(const Triplets& t, const Shape& shape, const std::string& format, DType pos,
                                 DType crd) {
  const std::vector<V> values(t.value.begin(), t.value.end());
  const std::vector<Buffer> coords{Buffer::borrow<std::int64_t>(t.row), Buffer::borrow<std::int64_t>(t.column)};
  ConvertOptions options;
  options.pos_dtype = pos;
  options.crd_dtype = crd;
  return from_coo(coords, Buffer::borrow<V>(values), shape, parse_format(format), options);
}

template <class V> std::vector<V> run(const Tensor& a, const std::vector<V>& x, std::int64_t columns, bool vector,
                                      std::vector<V> out, double alpha, double beta, bool transpose) {
  const auto m = a.shape()[transpose ? 1 : 0], n = a.shape()[transpose ? 0 : 1];
  const Shape xs = vector ? Shape{n} : Shape{n, columns}, ys = vector ? Shape{m} : Shape{m, columns};
  const auto strides = [&](const Shape&) {
    return vector ? std::vector<std::int64_t>{1} : std::vector<std::int64_t>{columns, 1};
  };
  const Tensor tx = borrow_dense(Buffer::borrow<V>(x), xs, strides(xs)),
               ty =
                   borrow_dense(Buffer{dtype_of<V>(), out.data(), static_cast<std::int64_t>(out.size()), {}, false, {}},
                                ys, strides(ys));
  MatmulOptions options;
  options.transpose_a = transpose;
  matmul_into(a, tx, ty, Scalar::of(static_cast<V>(alpha)), Scalar::of(static_cast<V>(beta)), options);
  return out;
}

template <class V> void check(std::mt19937_64& rng, const std::string& format, DType pos, DType crd) {
  const std::int64_t m = 1 + static_cast<std::int64_t>(rng() % 90), n = 1 + static_cast<std::int64_t>(rng() % 90);
  const Triplets t = random_triplets(rng, m, n, rng() % 3 == 0 ? 0.5 : 0.1);
  const Tensor a = sparse<V>(t, {m, n}, format, pos, crd);
  // Transposed blocks and bitmaps are compiled, one kernel per width: tested with the compiler.
  const bool hand_written_transposed = format.find("BSR") == std::string::npos && format != "bitmap";
  for (const std::int64_t columns : {0, 1, 3, 8, 17, 64, 133}) {
    const bool vector = columns == 0, transpose = hand_written_transposed && rng() % 3 == 0;
    const std::int64_t k = vector ? 1 : columns, rows = transpose ? n : m, inner = transpose ? m : n;
    const double alpha = rng() % 2 ? 1 : -3, beta = static_cast<double>(rng() % 3);
    std::vector<V> x(static_cast<std::size_t>(inner * k)), out(static_cast<std::size_t>(rows * k)),
        expected(out.size());
    for (V& v : x) v = static_cast<V>(static_cast<int>(rng() % 7) - 3);
    for (V& v : out)
      v = beta == 0 ? std::numeric_limits<V>::quiet_NaN() : static_cast<V>(rng() % 5);  // beta 0 never reads out
    for (std::size_t q = 0; q < out.size(); ++q) expected[q] = beta == 0 ? V(0) : static_cast<V>(beta) * out[q];
    for (std::size_t e = 0; e < t.value.size(); ++e)
      for (std::int64_t c = 0; c < k; ++c) {
        const auto i = transpose ? t.column[e] : t.row[e], j = transpose ? t.row[e] : t.column[e];
        expected[static_cast<std::size_t>(i * k + c)] +=
            static_cast<V>(alpha * t.value[e]) * x[static_cast<std::size_t>(j * k + c)];
      }
    CAPTURE(format);
    CAPTURE(m);
    CAPTURE(n);
    CAPTURE(columns);
    CAPTURE(transpose);
    CAPTURE(alpha);
    CAPTURE(beta);
    CHECK(run(a, x, k, vector, out, alpha, beta, transpose) == expected);
  }
}

}  // namespace

TEST_CASE("hand-written products of every structure, width and index type") {
  std::mt19937_64 rng(20);
  for (const char* format :
       {"CSR", "CSC", "COO", "DIAI", "DIAJ", "bitmap", "BSR(2, 2)", "BSR(3, 3)", "BSR(4, 4)", "BSR(8, 8)", "BSR(6, 6)",
        "BSR(2, 3)", "BSR(5, 16)", "BSR(16, 16)", "BSRLeft(3, 3)", "BSRLeft(4, 2)"})
    for (int repeat = 0; repeat < 4; ++repeat) {
      check<double>(rng, format, DType::i32, DType::i32);
      check<float>(rng, format, DType::i64, DType::i64);
      check<double>(rng, format, DType::i64, DType::i32);
      if (std::string_view(format).substr(0, 3) != "DIA") check<float>(rng, format, DType::i32, DType::u16);
    }
}

TEST_CASE("an absent element annihilates NaN and infinity, a stored zero does not") {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  Triplets t;
  for (std::int64_t j = 0; j < 200; j += 2) {
    t.row.push_back(0);
    t.column.push_back(j);
    t.value.push_back(1);
  }
  t.row.push_back(1);
  t.column.push_back(3);
  t.value.push_back(0);
  std::vector<double> x(200, 1.0);
  for (std::size_t j = 1; j < 200; j += 2) x[j] = j % 4 == 1 ? nan : std::numeric_limits<double>::infinity();
  for (const char* format : {"CSR", "CSC", "COO", "bitmap"}) {
    CAPTURE(format);
    const auto y =
        run<double>(sparse<double>(t, {2, 200}, format, DType::i32, DType::i32), x, 1, true, {0, 0}, 1, 0, false);
    CHECK(y[0] == 100);
    CHECK(std::isnan(y[1]));  // 0 * infinity
  }
}

// Without optimization multiply-adds are not fused in all loops alike.
#if defined(__OPTIMIZE__)
constexpr bool fused = true;
#else
constexpr bool fused = false;
#endif

TEST_CASE("the same bits with 1, 2 and 7 threads" * doctest::skip(!fused)) {
  std::mt19937_64 rng(21);
  const std::int64_t m = 3000, n = 2500;
  Triplets t;
  for (int e = 0; e < 400000; ++e) {
    t.row.push_back(static_cast<std::int64_t>(rng() % m));
    t.column.push_back(static_cast<std::int64_t>(rng() % n));
    t.value.push_back(std::normal_distribution<>()(rng));
  }
  std::vector<double> x(static_cast<std::size_t>(n * 5));
  for (double& v : x) v = std::normal_distribution<>()(rng);
  for (const char* format : {"CSR", "CSC", "COO", "bitmap", "BSR(4, 4)", "DIAI"}) {
    const Tensor a = sparse<double>(t, {m, n}, format, DType::i32, DType::i32);
    for (const std::int64_t k : {1, 5}) {
      std::vector<std::vector<double>> results;
      for (const int threads : {1, 2, 7}) {
        set_thread_count(threads);
        results.push_back(run<double>(a, std::vector<double>(x.begin(), x.begin() + n * k), k, false,
                                      std::vector<double>(static_cast<std::size_t>(m * k)), 1.5, 0, false));
      }
      set_thread_count(0);
      CAPTURE(format);
      CAPTURE(k);
      CHECK(std::memcmp(results[0].data(), results[1].data(), results[0].size() * 8) == 0);
      CHECK(std::memcmp(results[0].data(), results[2].data(), results[0].size() * 8) == 0);
    }
  }
}
