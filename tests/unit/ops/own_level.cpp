// A level type that is registered in C++: every coordinate below a parent from `crd[parent]` on.
#include <doctest/doctest.h>

#include "strata/strata.h"

using namespace strata;

namespace {

LevelBuilt runs(const LevelElements& e) {
  LevelBuilt out;
  out.crd.assign(static_cast<std::size_t>(e.parents), e.lo);
  out.pos.assign(static_cast<std::size_t>(e.parents) + 1, 0);
  std::size_t k = 0;
  for (std::int64_t parent = 0; parent < e.parents; ++parent) {
    const auto at = static_cast<std::size_t>(parent);
    out.pos[at + 1] = out.pos[at];
    if (k < e.parent.size() && e.parent[k] == parent) out.crd[at] = e.coordinate[k];
    for (; k < e.parent.size() && e.parent[k] == parent; ++k) {
      out.position.push_back(out.pos[at] + e.coordinate[k] - out.crd[at]);
      out.pos[at + 1] = out.position.back() + 1;
    }
  }
  return out;
}

}  // namespace

TEST_CASE("a level type of one's own") {
  register_level(
      {.name = "run", .coordinate = "crd[parent] + p - first", .crd_entries = "parents", .fills = true, .build = runs});
  const Tensor d = Tensor::dense({3, 4}, std::vector<double>{0, 2, 0, 3, 0, 0, 0, 0, 5, 6, 0, 0});
  const Tensor a = convert(d, "(i, j) -> (i: dense, j: run)");
  a.validate();
  CHECK(a.pos(1).as<std::int32_t>()[1] == 3);
  CHECK(a.crd(1).as<std::int32_t>()[0] == 1);
  CHECK(equal(convert(a, "dense"), d));
  CHECK(equal(convert(convert(a, "CSR"), "(i, j) -> (i: dense, j: run)"), a));
  CHECK(parse_format(a.format().to_string()) == a.format());
  CHECK_THROWS_AS(register_level({.name = "run", .coordinate = "crd[p]"}), FormatError);
  CHECK_THROWS_AS(register_level({.name = "bad", .coordinate = "crd[p]", .build = runs}), FormatError);
  CHECK_THROWS_AS(parse_format("(i) -> (i: bad)"), FormatError);
}
