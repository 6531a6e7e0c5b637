// Expressions built from C++ operators, on random matrices in random formats, against loops over dense ones.
#include <doctest/doctest.h>

#include <cmath>
#include <functional>
#include <random>

#include "strata/ops.h"
#include "strata/strata.h"

using namespace strata;

namespace {

constexpr std::int64_t rows = 9, columns = 7, width = 8;
using Numbers = std::vector<double>;

const char* const formats[] = {"CSR", "CSC",    "COO",      "DCSR",           "BSR(3, 2)",       "DIAI",
                               "ELL", "Bitmap", "Delta(4)", "TiledCSR(4, 4)", "BSR(2, 2) + COO", "dense"};

struct Matrix {
  std::int64_t rows, columns;
  Numbers values;
  double operator()(std::int64_t i, std::int64_t j) const { return values[static_cast<std::size_t>(i * columns + j)]; }
};

Matrix random_matrix(std::int64_t m, std::int64_t n, std::mt19937& r) {
  Matrix out{m, n, Numbers(static_cast<std::size_t>(m * n))};
  for (double& x : out.values) x = r() % 3 == 0 ? static_cast<double>(r() % 9) - 4 : 0;
  return out;
}

Tensor tensor(const Matrix& m, std::mt19937& r) {
  Buffer values = Buffer::allocate(DType::f64, m.rows * m.columns);
  std::copy(m.values.begin(), m.values.end(), static_cast<double*>(values.data));
  const std::int64_t strides[] = {m.columns, 1};
  return from_dense(borrow_dense(values, {m.rows, m.columns}, strides),
                    parse_format(formats[r() % std::size(formats)], 2));
}

Numbers numbers(const Tensor& t) {
  const Tensor d = to_dense(t);
  const auto* v = static_cast<const double*>(d.part().values.data);
  std::int64_t n = 1;
  for (auto e : d.shape()) n *= e;
  return {v, v + n};
}

Expression A() { return Expression::access("A", {"i", "j"}); }
Expression B() { return Expression::access("B", {"i", "j"}); }
Expression C() { return Expression::access("C", {"j", "k"}); }

Assignment assignment(std::vector<std::string> indices, const Expression& value) {
  Assignment a;
  a.name = "R";
  a.value = with_sums(value, indices);
  a.indices = std::move(indices);
  return a;
}

}  // namespace

TEST_CASE("trees of operators, element by element") {
  const Expression two = Expression::constant(2), half = Expression::constant(0.5);
  const struct {
    Expression tree;
    std::function<double(double, double)> value;
  } cases[] = {
      {A() + B(), [](double a, double b) { return a + b; }},
      {A() - two * B(), [](double a, double b) { return a - 2 * b; }},
      {-(A() * B()), [](double a, double b) { return -(a * b); }},
      {A() / (B() * B() + Expression::integer(1)), [](double a, double b) { return a / (b * b + 1); }},
      {Expression::binary(Operator::minimum, A(), B()), [](double a, double b) { return std::min(a, b); }},
      {Expression::binary(Operator::maximum, A() - half, B()), [](double a, double b) { return std::max(a - 0.5, b); }},
      {Expression::unary(Operator::exponential, A()) * B(), [](double a, double b) { return std::exp(a) * b; }},
      {Expression::unary(Operator::relu, A() + B()), [](double a, double b) { return std::max(a + b, 0.0); }},
      {Expression::unary(Operator::absolute, A() - B()) + Expression::unary(Operator::sign, A()),
       [](double a, double b) { return std::abs(a - b) + (a > 0) - (a < 0); }},
      {Expression::binary(Operator::modulo, A(), two) * B(),
       [](double a, double b) { return (a - 2 * std::floor(a / 2)) * b; }},
  };
  std::mt19937 r(1);
  for (int repeat = 0; repeat < 6; ++repeat) {
    const Matrix a = random_matrix(rows, columns, r), b = random_matrix(rows, columns, r);
    const std::map<std::string, Tensor> operands{{"A", tensor(a, r)}, {"B", tensor(b, r)}};
    for (const auto& c : cases) {
      const Assignment whole = assignment({"i", "j"}, c.tree);
      CAPTURE(whole.to_string());
      CHECK(parse_assignment(whole.to_string()) == whole);
      for (const bool general : {false, true}) {
        EvaluateOptions options;
        options.general = general;
        const Numbers got = numbers(evaluate(whole, operands, options));
        for (std::size_t k = 0; k < got.size(); ++k)
          REQUIRE(got[k] == doctest::Approx(c.value(a.values[k], b.values[k])));
      }
    }
  }
}

TEST_CASE("trees with sums, maxima and truth values") {
  std::mt19937 r(2);
  for (int repeat = 0; repeat < 8; ++repeat) {
    const Matrix a = random_matrix(rows, columns, r), b = random_matrix(rows, columns, r),
                 c = random_matrix(columns, width, r);
    const std::map<std::string, Tensor> operands{{"A", tensor(a, r)}, {"B", tensor(b, r)}, {"C", tensor(c, r)}};
    const Numbers product = numbers(evaluate(assignment({"i", "k"}, (A() + B()) * C()), operands));
    const Numbers most =
        numbers(evaluate(assignment({"i"}, Expression::reduce(Operator::reduce_max, "j", A() * B())), operands));
    const Numbers sums = numbers(
        evaluate(assignment({"j"}, Expression::reduce(Operator::sum, "i", Expression::unary(Operator::absolute, A()))),
                 operands));
    for (std::int64_t i = 0; i < rows; ++i) {
      double largest = -INFINITY;
      for (std::int64_t j = 0; j < columns; ++j) largest = std::max(largest, a(i, j) * b(i, j));
      CHECK(most[static_cast<std::size_t>(i)] == largest);
      for (std::int64_t k = 0; k < width; ++k) {
        double sum = 0;
        for (std::int64_t j = 0; j < columns; ++j) sum += (a(i, j) + b(i, j)) * c(j, k);
        CHECK(product[static_cast<std::size_t>(i * width + k)] == sum);
      }
    }
    for (std::int64_t j = 0; j < columns; ++j) {
      double sum = 0;
      for (std::int64_t i = 0; i < rows; ++i) sum += std::abs(a(i, j));
      CHECK(sums[static_cast<std::size_t>(j)] == sum);
    }
  }
}

TEST_CASE("affine accesses from C++") {
  std::mt19937 r(3);
  const Matrix a = random_matrix(rows, columns, r);
  const std::map<std::string, Tensor> operands{{"A", tensor(a, r)}};
  AffineIndex next("i");
  next.constant = 1;
  Assignment whole;
  whole.name = "R";
  whole.indices = {"i", "j"};
  whole.value = Expression::access("A", {next, "j"}) * Expression::integer(3);  // i goes as far as stays inside
  const Numbers got = numbers(evaluate(whole, operands));
  REQUIRE(got.size() == static_cast<std::size_t>((rows - 1) * columns));
  for (std::int64_t i = 0; i + 1 < rows; ++i)
    for (std::int64_t j = 0; j < columns; ++j) CHECK(got[static_cast<std::size_t>(i * columns + j)] == 3 * a(i + 1, j));
}
