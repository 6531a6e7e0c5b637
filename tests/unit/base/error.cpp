#include "strata/error.h"

#include <doctest/doctest.h>

#include <array>

#include "base/suggest.h"

using namespace strata;

TEST_CASE("a problem prints what, the place, and how to mend it") {
  const std::string text = "(i, j) -> (i: dense, j: compresed)";
  CHECK(to_string(Problem{.what = "no level type 'compresed'",
                          .expected = "batch, compressed",
                          .got = "compresed",
                          .fix = "write 'compressed'",
                          .text = text,
                          .where = {24, 33}}) ==
        "no level type 'compresed'\n"
        "    (i, j) -> (i: dense, j: compresed)\n"
        "                            ^~~~~~~~~\n"
        "  expected  batch, compressed\n"
        "  got       compresed\n"
        "  fix       write 'compressed'");
  CHECK(to_string(Problem{.what = "short"}) == "short");
}

TEST_CASE("the place is shown in its line, cut where lines are long, with what cannot be printed escaped") {
  CHECK(to_string(Problem{.what = "w", .text = "first\nsecond word\nthird", .where = {13, 17}}) ==
        "w\n    second word\n           ^~~~");
  CHECK(to_string(Problem{.what = "w", .text = std::string("a\0b", 3), .where = {1, 2}}) ==
        "w\n    a\\x00b\n     ^~~~");
  CHECK(to_string(Problem{.what = "w", .text = "\xD1\x96, j", .where = {0, 2}}) == "w\n    \xD1\x96, j\n    ^");
  CHECK(to_string(Problem{.what = "w", .text = "\xFF, j", .where = {1, 2}}) == "w\n    \\xff, j\n        ^");
  CHECK(to_string(Problem{.what = "w", .text = "end", .where = {3, 3}}) == "w\n    end\n       ^");
  CHECK(to_string(Problem{.what = "w", .text = "end", .where = {30, 10}}) == "w\n    end\n       ^");
  const std::string longest = to_string(
      Problem{.what = std::string(2000000, 'x'), .text = std::string(2000000, 'y'), .where = {1000000, 1000100}});
  CHECK(longest.size() < 2000);
  CHECK(longest.find("...") != std::string::npos);
}

TEST_CASE("the nearest word is suggested, and none where none is near") {
  constexpr std::array<std::string_view, 4> words = {"dense", "compressed", "singleton", "delta"};
  CHECK(closest("compresed", words) == "compressed");
  CHECK(closest("Dnese", words) == "dense");
  CHECK(closest("comp", words) == "compressed");
  CHECK(closest("hashed", words) == "");
  CHECK(closest("", words) == "");
  CHECK(closest(std::string(1000000, 'd'), words) == "");
  CHECK(edit_distance("kitten", "sitting") == 3);
  CHECK(edit_distance("ab", "ba") == 1);
  CHECK(edit_distance("", "abc") == 3);
}
