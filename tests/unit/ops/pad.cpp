// Padded tensors and padded accesses, in every format, beside sums over the dense array.
#include <doctest/doctest.h>

#include <random>

#include "strata/evaluate.h"
#include "strata/ops.h"

using namespace strata;

namespace {

constexpr std::int64_t rows = 5, columns = 7;
const char* const formats[] = {
    "CSR",      "CSC",   "COO",    "DCSR", "BSR(2, 2)",       "DIA",
    "delta(4)", "dense", "bitmap", "ELL",  "BSR(4, 4) + COO", "(i, j) -> (j: dense, i: dense)"};

double at(const Tensor& t, std::int64_t i, std::int64_t j) { return t.get(Shape{i, j}).value_or(t.fill()).to_double(); }

Tensor some(const char* format, double fill, std::mt19937& r) {
  std::vector<double> values;
  for (std::int64_t k = 0; k < rows * columns; ++k) values.push_back(r() % 3 ? fill : 1 + static_cast<double>(r() % 9));
  return from_dense(Tensor::dense({rows, columns}, std::move(values)), format, 0.0, Scalar::of(fill));
}

}  // namespace

TEST_CASE("padding holds the fill, and keeps a format that holds any pattern") {
  std::mt19937 r(1);
  for (const char* format : formats)
    for (const double fill : {0.0, 2.5}) {
      CAPTURE(format);
      const Tensor t = some(format, fill, r);
      const std::int64_t before[] = {1, 0}, after[] = {0, 3};
      const Tensor p = pad(t, before, after);
      REQUIRE(p.shape() == Shape{rows + 1, columns + 3});
      if (p.format().num_parts() == t.format().num_parts()) CHECK(p.format() == t.format());
      CHECK(p.fill().same_bits(t.fill()));
      for (std::int64_t i = 0; i < rows + 1; ++i)
        for (std::int64_t j = 0; j < columns + 3; ++j)
          CHECK(at(p, i, j) == (i >= 1 && j < columns ? at(t, i - 1, j) : fill));
    }
  const Tensor t = some("CSR", 0, r);
  const std::int64_t none[] = {0, 0}, negative[] = {0, -1}, one[] = {1}, far[] = {INT64_MAX, 0};
  CHECK(pad(t, none, none).same_object(t));
  CHECK_THROWS_AS(pad(t, none, negative), TensorError);
  CHECK_THROWS_AS(pad(t, one, one), TensorError);
  CHECK_THROWS_AS(pad(t, far, none), TensorError);
}

TEST_CASE("'same' convolution, with steps, in every format") {
  std::mt19937 r(2);
  const Tensor k = Tensor::dense({3, 2}, std::vector<double>{1, 2, 3, 4, 5, 6});
  for (const char* format : formats)
    for (const bool general : {false, true}) {
      CAPTURE(format);
      const Tensor x = some(format, 0, r);
      const Tensor y =
          evaluate("Y(i,j) = X(2*i + k - 1?, j - l + 1?) * K(k,l)", {{"X", x}, {"K", k}}, {.general = general});
      REQUIRE(y.shape() == Shape{(rows + 1) / 2, columns});
      for (std::int64_t i = 0; i < y.shape()[0]; ++i)
        for (std::int64_t j = 0; j < columns; ++j) {
          double sum = 0;
          for (std::int64_t a = 0; a < 3; ++a)
            for (std::int64_t b = 0; b < 2; ++b) {
              const std::int64_t u = 2 * i + a - 1, v = j - b + 1;
              if (u >= 0 && u < rows && v >= 0 && v < columns) sum += at(x, u, v) * at(k, a, b);
            }
          CHECK(at(y, i, j) == sum);
        }
    }
}

TEST_CASE("padded accesses that lie inside, outside, and over an empty operand") {
  const Tensor x = Tensor::dense({3}, std::vector<double>{1, 2, 3});
  const auto is = [&](const char* text, std::vector<double> expected) {
    return equal(evaluate(text, {{"X", x}}), Tensor::dense({3}, std::move(expected)));
  };
  CHECK(is("Y(i) = X(i?)", {1, 2, 3}));
  CHECK(is("Y(i) = X(2 - i?)", {3, 2, 1}));
  CHECK(evaluate("y = X(-1?)", {{"X", x}}).get(Shape{})->to_double() == 0);
  CHECK(evaluate("y = X(2?)", {{"X", x}}).get(Shape{})->to_double() == 3);
  CHECK(is("Y(i) = X(i + 9?)", {0, 0, 0}));
  const Tensor none = Tensor::dense({0}, std::vector<double>{});
  CHECK(evaluate("Y(i) = X(i - 1?)", {{"X", none}}).shape() == Shape{0});
  CHECK(explain(parse_assignment("Y(i) = X(i - 1?)"), {{"X", x}}).find("Y(i) = X[-1:2](i)") != std::string::npos);
  CHECK_THROWS_AS(emit_expression("Y(i) = X(i - 1?)", {{"X", {"SparseVector"}}}), Unsupported);
  CHECK(show_expression("Y(i) = X(i - 1?)", {{"X", {"SparseVector"}}}, 10).find("padded") != std::string::npos);
}
