// What numpy.einsum answers for the same texts and shapes (NumPy 2.4): its shapes, and which it refuses.
#include <doctest/doctest.h>

#include "strata/expr.h"

using namespace strata;

namespace {

Einsum parse(std::string_view text, const std::vector<Shape>& shapes) {
  std::vector<int> ranks;
  for (const auto& s : shapes) ranks.push_back(static_cast<int>(s.size()));
  return parse_einsum(text, ranks);
}
Shape shape_of(std::string_view text, const std::vector<Shape>& shapes) {
  return output_shape(parse(text, shapes), shapes);
}

std::string message(std::string_view text, const std::vector<Shape>& shapes) {
  try {
    shape_of(text, shapes);
  } catch (const ExpressionError& e) { return e.what(); }
  return "no error";
}

}  // namespace

TEST_CASE("einsum: shapes as NumPy's") {
  const struct {
    const char* text;
    std::vector<Shape> shapes;
    Shape result;
  } rows[] = {
      {"ij,jk->ik", {{2, 3}, {3, 4}}, {2, 4}},
      {"ij,jk->ik", {{2, 1}, {3, 4}}, {2, 4}},
      {"ij,jk", {{2, 3}, {3, 4}}, {2, 4}},
      {"i,i", {{1}, {0}}, {}},
      {"i,i->i", {{1}, {0}}, {0}},
      {"i,i->i", {{1}, {3}}, {3}},
      {"...i->i", {{3}}, {3}},
      {"ij->...ij", {{2, 3}}, {2, 3}},
      {"ij->i...j", {{2, 3}}, {2, 3}},
      {"i...j,j...k", {{2, 3, 4}, {4, 5}}, {3, 2, 5}},
      {"...,...", {{2, 3}, {3}}, {2, 3}},
      {" i j -> j i ", {{2, 3}}, {3, 2}},
      {"", {{}}, {}},
      {"->", {{}}, {}},
      {",", {{}, {}}, {}},
      {"i,", {{3}, {}}, {3}},
      {"iJ", {{2, 3}}, {3, 2}},
      {"ba", {{2, 3}}, {3, 2}},
      {"...ij->ji...", {{5, 2, 3}}, {3, 2, 5}},
      {"iI...->...", {{1, 2, 3}}, {3}},
      {"ii...", {{2, 2, 3}}, {3}},
      {"ii,i->i", {{1, 1}, {3}}, {3}},
      {"i->", {{2}}, {}},
      {"...i->...", {{0, 3}}, {0}},
      {"abc->cba", {{2, 3, 4}}, {4, 3, 2}},
  };
  for (const auto& r : rows) {
    CAPTURE(r.text);
    CHECK(shape_of(r.text, r.shapes) == r.result);
  }
}

TEST_CASE("einsum: indices, implicit output and names") {
  const Einsum e = parse("ba,bZ", {{2, 3}, {2, 4}});
  CHECK(e.operands == std::vector<std::vector<int>>{{0, 1}, {0, 2}});
  CHECK(e.output == std::vector<int>{2, 1});  // Z before a
  CHECK(e.names == std::vector<std::string>{"b", "a", "Z"});
  CHECK(e.to_string() == "C(Z,a) = A(b,a) * B(b,Z)");
  const Einsum d = parse("...ii,...->...i", {{7, 8, 2, 2}, {8}});
  CHECK(d.operands == std::vector<std::vector<int>>{{0, 1, 2, 2}, {1}});
  CHECK(d.output == std::vector<int>{0, 1, 2});
  CHECK(d.to_string() == "C(e0,e1,i) = A(e0,e1,i,i) * B(e1)");
}

TEST_CASE("einsum: what NumPy refuses is refused, with the place") {
  const struct {
    const char* text;
    std::vector<Shape> shapes;
    const char* what;
  } rows[] = {
      {"ii->i", {{1, 3}}, "repeats index 'i'"},
      {"ii", {{3, 1}}, "repeats index 'i'"},
      {"...i->i", {{2, 3}}, "lacks the ellipsis"},
      {"i...->", {{2, 3}}, "lacks the ellipsis"},
      {"..i", {{3}}, "not part of an ellipsis"},
      {". . .i", {{2, 3}}, "not part of an ellipsis"},
      {"ij->ii", {{2, 3}}, "an index twice"},
      {"ij->k", {{2, 3}}, "that no operand has"},
      {"i->i->", {{2}}, "a second '->'"},
      {"i-j", {{2}}, "not part of '->'"},
      {"i- >i", {{2}}, "not part of '->'"},
      {"i...i...", {{2, 3, 2}}, "a second ellipsis"},
      {"i", {{2, 3}}, "operand 0 does not fit its term"},
      {"ijk", {{2, 3}}, "operand 0 does not fit its term"},
      {"ijk...", {{2, 3}}, "operand 0 does not fit its term"},
      {"i,j", {{2}}, "differ in number"},
      {"i", {{2}, {3}}, "differ in number"},
      {"1", {{2}}, "no such character"},
      {"i,j->i,j", {{2}, {3}}, "a comma after"},
      {"ij,jk", {{2, 3}, {4, 5}}, "index 'j' has two extents"},
      {"", {}, "without operands"},
  };
  for (const auto& r : rows) {
    CAPTURE(r.text);
    const std::string text = message(r.text, r.shapes);
    CAPTURE(text);
    CHECK(text.find(r.what) != std::string::npos);
  }
}

TEST_CASE("einsum: error texts") {
  CHECK(message("ij,jk->ix", {{2, 3}, {3, 4}}) ==
        "the output has an index that no operand has\n"
        "    ij,jk->ix\n"
        "            ^\n"
        "  expected  an index of the operands\n"
        "  got       'x'");
  CHECK(message("ij,jk->ik", {{2, 3, 4}, {3, 4}}) ==
        "operand 0 does not fit its term\n"
        "    ij,jk->ik\n"
        "    ^~\n"
        "  expected  2 dimensions\n"
        "  got       3 dimensions\n"
        "  fix       name every dimension, or write '...' for the rest");
  CHECK(message("ij,jk->ik", {{2, 3}, {5, 4}}) ==
        "index 'j' has two extents\n"
        "    C(i,k) = A(i,j) * B(j,k)\n"
        "                      ^~~~~~\n"
        "  expected  3, as in operand 0 of shape (2, 3)\n"
        "  got       5 in operand 1 of shape (5, 4)");
  CHECK(message("i\xC3\xA9->i", {{2, 3}}).find("got       '\xC3\xA9'") != std::string::npos);
  CHECK(message(std::string(100000, 'i'), {{2}}).find("too long") != std::string::npos);
}

TEST_CASE("einsum: hostile texts end in a typed error") {
  const std::string alphabet = std::string("ijkIJ.,->- \t1()\0\xFF", 18);
  unsigned state = 12345;
  int refused = 0;
  for (int n = 0; n < 5000; ++n) {
    std::string text;
    for (int k = 0; k < 8; ++k) text += alphabet[(state = state * 1664525u + 1013904223u) >> 8 & 15];
    try {
      const std::vector<int> ranks(1 + n % 3, n % 4);
      const Einsum e = parse_einsum(text, ranks);
      CHECK(e.operands.size() == ranks.size());
    } catch (const ExpressionError&) { ++refused; }
  }
  CHECK(refused > 1000);
}
