#include <doctest/doctest.h>

#include "strata/expr.h"

using namespace strata;

namespace {
std::string message(std::string_view text) {
  std::vector<std::string> names;
  try {
    parse_index_notation(text, names);
  } catch (const Error& e) { return e.what(); }
  return "no error";
}
}  // namespace

TEST_CASE("index notation: one product") {
  std::vector<std::string> names;
  const Einsum e = parse_index_notation(" C( i , k )=A(i,j)*conj( B(j,k) ) * alpha ", names);
  CHECK(names == std::vector<std::string>{"A", "B", "alpha"});
  CHECK(e.operands == std::vector<std::vector<int>>{{0, 1}, {1, 2}, {}});
  CHECK(e.output == std::vector<int>{0, 2});
  CHECK(e.conjugate == std::vector<char>{0, 1, 0});
  CHECK(e.num_indices == 3);
  CHECK(e.to_string() == "D(i,k) = A(i,j) * conj(B(j,k)) * C()");
  CHECK(parse_index_notation(e.to_string(), names) == e);
}

TEST_CASE("index notation: scalars, long names, repeated tensors") {
  std::vector<std::string> names;
  const Einsum dot = parse_index_notation("s = x(row) * x(row)", names);
  CHECK(names == std::vector<std::string>{"x", "x"});
  CHECK(dot.output.empty());
  CHECK(dot.names == std::vector<std::string>{"row"});
  CHECK(parse_index_notation("s() = a", names).operands == std::vector<std::vector<int>>{{}});
}

TEST_CASE("index notation: errors with carets") {
  CHECK(message("y(i) = A(i,j * x(j)") ==
        "something is missing\n"
        "    y(i) = A(i,j * x(j)\n"
        "                 ^\n"
        "  expected  ',' or ')'\n"
        "  got       '*'");
  CHECK(message("y(i) = A(i,j) * x(j) + b(i)").find("a plan is of one product") == 0);
  CHECK(message("y(i) += A(i,j)").find("'+=' has no place here") == 0);
  CHECK(message("y(z) = A(i,j)").find("that no operand has") != std::string::npos);
  CHECK(message("y(i,i) = A(i,j)").find("an index twice") != std::string::npos);
  CHECK(message("y(i) = A(1i)").find("starts with a digit") != std::string::npos);
  CHECK(message("").find("a tensor's name is missing") == 0);
  CHECK(message("y(i) = ").find("the end of the text") != std::string::npos);
  CHECK(message("y(i) = A(i) )").find("does not end here") != std::string::npos);
  CHECK(message("y(i) = " + std::string(65, 'A') + "(i)").find("too long") != std::string::npos);
}
