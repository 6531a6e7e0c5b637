// Padded accesses: how they are read and printed, and what extents they give.
#include <doctest/doctest.h>

#include "strata/expr.h"
#include "strata/expression.h"

using namespace strata;

namespace {

using Shapes = std::map<std::string, Shape>;

std::int64_t extent(const char* text, const Shapes& shapes, const char* index = "i") {
  return index_extents(parse_assignment(text), shapes).at(index);
}

template <class F> Problem problem(const F& f) {
  try {
    f();
  } catch (const Error& e) { return e.problem(); }
  return {};
}
Problem problem(const char* text, const Shapes& shapes = {}) {
  return problem([&] { static_cast<void>(extent(text, shapes)); });
}

}  // namespace

TEST_CASE("a padded access prints as it is written, and is not the same as one that is not padded") {
  for (const char* text : {"Y(i) = X(i + k - 1?) * K(k)", "Y(i,j) = X(i?,2*j - 3?)", "y = X(-1?)", "Y(i) = X(-i + 4?)",
                           "Y(i) += sum(k, X(i - k?) * K(k))"}) {
    CAPTURE(text);
    CHECK(parse_assignment(text).to_string() == text);
    CHECK(parse_assignment(parse_assignment(text).to_string()) == parse_assignment(text));
  }
  CHECK(parse_assignment("Y(i) = X( i+1 ? )").to_string() == "Y(i) = X(i + 1?)");
  CHECK(parse_expression("X(i?)") != parse_expression("X(i)"));
  CHECK(!parse_expression("X(i?)").node().indices[0].is_plain());
}

TEST_CASE("what padding gives an index") {
  CHECK(extent("Y(i) = X(i + k - 1?) * K(k)", {{"X", {10}}, {"K", {3}}}) == 10);
  CHECK(extent("Y(i) = X(2*i + k - 1?) * K(k)", {{"X", {9}}, {"K", {3}}}) == 5);
  CHECK(extent("Y(i) = X(k - 3*i?) * K(k)", {{"X", {9}}, {"K", {3}}}) == 3);
  CHECK(extent("Y(i) = X(i?) + Z(i - 1?)", {{"X", {4}}, {"Z", {6}}}) == 6);
  CHECK(extent("Y(i) = X(i?) + Z(i)", {{"X", {9}}, {"Z", {4}}}) == 4);      // a plain access decides
  CHECK(extent("Y(i) = X(i?) + Z(i + 1)", {{"X", {9}}, {"Z", {4}}}) == 3);  // and one that must stay inside
  CHECK(extent("Y(i) += X(i - k?) * K(k)", {{"X", {4}}, {"K", {3}}, {"Y", {6}}}) == 6);
  CHECK(extent("Y(i) = X(i?)", {{"X", {0}}}) == 0);
}

TEST_CASE("mistakes of padding are told") {
  const auto outside = problem("Y(i) = X(i + 1) * Z(i)", {{"X", {4}}, {"Z", {4}}});
  CHECK(outside.what == "'i + 1' leaves dimension 0 of 'X'");
  CHECK(outside.fix == "write 'i + 1?' to read the fill there");
  CHECK(problem("Y(i) = X(i + k?)", {{"X", {4}}}).what == "nothing says how far index 'k' goes");
  CHECK(problem("Y(i?) = X(i)").what == "a result is not padded");
  CHECK(problem("Y(i?) += X(i)").what == "a result is not padded");
  CHECK(problem("Y(i) = X(?)").what == "an index is missing");
  CHECK(problem("Y(i) = X(i? ?)").what == "something is missing");
  CHECK(problem("Y(i) = X(i)?").what == "the expression does not end here");
  std::vector<std::string> names;
  const auto plan = problem([&] { static_cast<void>(parse_index_notation("y(i) = X(i+k?) * K(k)", names)); });
  CHECK(plan.what == "a plan takes no sums of indices, and no padding");
}
