// The front door of expressions from C++: results, which way they go, and what is generated.
#include "strata/evaluate.h"

#include <doctest/doctest.h>

#include "strata/ops.h"

using namespace strata;

namespace {

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

template <class F>
std::string message(const F& f) {
  try {
    f();
  } catch (const Error& e) { return e.what(); }
  return "";
}

/// A 2 x 3 matrix with rows {a, 0, b} and {0, c, 0}.
Tensor matrix(const char* format, double a, double b, double c) {
  static double values[6];
  double* v = values;
  v[0] = a, v[1] = 0, v[2] = b, v[3] = 0, v[4] = c, v[5] = 0;
  const std::int64_t shape[] = {2, 3}, strides[] = {3, 1};
  Buffer whole = Buffer::allocate(DType::f64, 6);
  std::copy_n(v, 6, static_cast<double*>(whole.data));
  return from_dense(borrow_dense(whole, {shape, shape + 2}, strides), parse_format(format));
}

double at(const Tensor& t, std::int64_t i, std::int64_t j) {
  const std::int64_t place[] = {i, j};
  return t.get(place).value_or(Scalar::of(0.0)).to_complex().real();
}

}  // namespace

TEST_CASE("one expression, any formats") {
  for (const char* f : {"CSR", "CSC", "COO", "BSR(2, 2)"})
    for (const bool general : {false, true}) {
      const Tensor a = matrix(f, 1, 2, 3), b = matrix("COO", 5, -1, 0);
      const std::map<std::string, Tensor> operands{{"A", a}, {"B", b}};
      EvaluateOptions options;
      options.general = general;
      const Tensor sum = evaluate("C(i,j) = A(i,j) - 2 * B(i,j)", operands, options);
      CHECK(at(sum, 0, 0) == -9);
      CHECK(at(sum, 0, 2) == 4);
      CHECK(at(sum, 1, 1) == 3);
      CHECK(at(evaluate("C(i,k) = A(i,j) * B(k,j)", operands, options), 0, 0) == 3);
      // What is not stored counts: the second row of B has nothing but zeros.
      options.format = parse_format("dense", 1);
      const Tensor most = evaluate("m(i) = min(j, A(i,j) * B(i,j))", operands, options);
      const std::int64_t first[] = {0}, second[] = {1};
      CHECK(most.get(first).value().to_complex().real() == -2);
      CHECK(most.get(second).value().to_complex().real() == 0);
    }
}

TEST_CASE("explain() tells the way that serves, and why not the others") {
  const std::map<std::string, Tensor> operands{{"A", matrix("CSR", 1, 2, 3)}, {"B", matrix("CSR", 5, -1, 0)}};
  const std::string text = explain(parse_assignment("C(i,k) = A(i,j) * B(k,j)"), operands);
  CHECK(contains(text, "a written kernel: no, 2 operands are sparse"));
  CHECK(contains(text, "generated code serves"));
  CHECK(contains(explain(parse_assignment("C(i,j) = conj(A(i,j) * B(i,j))"), operands), "the general path serves"));
  CHECK(contains(message([&] { explain(parse_assignment("C(i) = A(i,j) * X(j)"), operands); }), "no operand 'X'"));
}

TEST_CASE("show_expression() needs no data") {
  const std::string text = show_expression("y(i) = A(i,j) * x(j)", {{"A", {"CSR", DType::f32}}});
  CHECK(contains(text, "  A  CSR 1000 x 1000, float32"));
  CHECK(contains(text, "  x  DenseVector 1000, float64"));
  CHECK(contains(text, "--- C ---"));
  const std::string two = show_expression("C(i,k) = A(i,j) * B(j,k)", {{"A", {"COO"}}, {"B", {"csr"}}});
  CHECK(contains(two, "workspace over"));
  CHECK(contains(two, "--- C ---"));
  CHECK(contains(message([] { show_expression("y(i) = A(i,j) * x(j)", {{"a", {"CSR"}}}); }), "write 'A'"));
  CHECK(contains(message([] { show_expression("y(i) = A(i,j) * x(j)", {{"x", {"CSR"}}}); }),
                 "operand x does not fit its format"));
}
