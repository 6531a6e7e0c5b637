// Maps between dimensions and levels, level ranges and what follows from structure, against brute force.
#include <doctest/doctest.h>

#include <limits>
#include <map>
#include <set>

#include "strata/format.h"
#include "support/random_format.h"

using namespace strata;
using namespace strata::testing;

namespace {
using Coordinates = std::vector<std::int64_t>;

/// Calls f with every coordinate of a shape.
template <class F> void for_each_coordinate(const Coordinates& shape, F f) {
  for (const auto n : shape)
    if (n == 0) return;
  Coordinates at(shape.size(), 0);
  for (;;) {
    f(at);
    std::size_t d = shape.size();
    while (d > 0 && ++at[d - 1] == shape[d - 1]) at[--d] = 0;
    if (d == 0) return;
  }
}
Coordinates levels_of(const Format& f, const Coordinates& dims) {
  Coordinates out(static_cast<std::size_t>(f.num_levels()));
  f.dim2lvl(dims, out);
  return out;
}
}  // namespace

TEST_CASE("random formats: text, object, hash, name, parts, maps and ranges") {
  std::mt19937_64 random(20260731);
  std::array<int, level_kind_count> kinds{};
  int sums = 0, named = 0, blocked = 0, cancelled = 0, completed = 0;
  for (int k = 0; k < 2500; ++k) {
    RandomFormatOptions options;
    options.any_tensor = k % 2 == 0;
    options.max_parts = k % 5 == 0 ? 3 : 1;
    options.max_operations = k % 7 == 0 ? 8 : 3;
    const int rank = k % 6;
    const std::string text = RandomFormat(random, rank, options).text();
    CAPTURE(text);
    const Format f = parse_format(text);
    REQUIRE(f.rank() == rank);
    REQUIRE(parse_format(f.to_string()) == f);
    REQUIRE(parse_format(f.to_string()).to_string() == f.to_string());
    REQUIRE(parse_format(f.to_blog_string()) == f);
    REQUIRE(parse_format(f.to_blog_string()).to_blog_string() == f.to_blog_string());
    REQUIRE(parse_format(f.to_string()).hash() == f.hash());
    REQUIRE(Format(f.spec()) == f);
    if (k % 8 == 0) {
      const auto name = f.name();
      if (!name.empty()) REQUIRE(parse_format(name) == f);
      named += !name.empty();
    }
    sums += f.num_parts() > 1;
    std::string joined;
    for (int p = 0; p < f.num_parts(); ++p) joined += (p ? " + " : "") + f.part(p).to_string();
    REQUIRE(parse_format(joined) == f);

    Coordinates shape;
    for (int d = 0; d < rank; ++d) shape.push_back(static_cast<std::int64_t>(random() % (rank > 3 ? 4 : 7)));
    for (int p = 0; p < f.num_parts(); ++p) {
      const Format part = f.part(p);
      const auto ranges = part.level_ranges(shape);
      for (const Level& level : part.levels()) ++kinds[static_cast<std::size_t>(level.kind)];
      blocked += !part.is_identity();
      std::vector<std::set<std::int64_t>> seen(ranges.size());
      std::set<Coordinates> distinct;
      std::int64_t count = 0;
      for_each_coordinate(shape, [&](const Coordinates& dims) {
        const Coordinates lvls = levels_of(part, dims);
        Coordinates back(dims.size());
        part.lvl2dim(lvls, back);
        REQUIRE(back == dims);
        distinct.insert(lvls);
        ++count;
        for (std::size_t l = 0; l < lvls.size(); ++l) {
          REQUIRE(lvls[l] >= ranges[l].lo);
          REQUIRE(lvls[l] < ranges[l].lo + ranges[l].size);
          seen[l].insert(lvls[l]);
        }
      });
      REQUIRE(static_cast<std::int64_t>(distinct.size()) == count);
      for (std::size_t l = 0; l < ranges.size(); ++l) {
        const auto constant = part.constant_size(static_cast<int>(l));
        if (constant > 0) REQUIRE(ranges[l] == LevelRange{0, constant});
        REQUIRE(part.level_range(static_cast<int>(l), shape) == ranges[l]);
        // A range is tight where no remainder rounds it up.
        const ExprNode& e = part.spec().exprs[static_cast<std::size_t>(part.level(static_cast<int>(l)).expr)];
        if (count > 0 && e.op == ExprNode::dim) REQUIRE(static_cast<std::int64_t>(seen[l].size()) == ranges[l].size);
      }
      // A dimension's coordinate changes with no level behind its completing one.
      for (int d = 0; d < rank && count > 0; ++d) {
        const int last = part.completing_level(d);
        REQUIRE(last >= 0);
        REQUIRE(last < part.num_levels());
        Coordinates lvls(ranges.size(), 1), a(static_cast<std::size_t>(rank)), b(static_cast<std::size_t>(rank));
        part.lvl2dim(lvls, a);
        for (std::size_t l = static_cast<std::size_t>(last) + 1; l < lvls.size(); ++l)
          lvls[l] = 5 + static_cast<std::int64_t>(l);
        part.lvl2dim(lvls, b);
        REQUIRE(a[static_cast<std::size_t>(d)] == b[static_cast<std::size_t>(d)]);
        lvls[static_cast<std::size_t>(last)] += 7;
        part.lvl2dim(lvls, b);
        cancelled +=
            a[static_cast<std::size_t>(d)] == b[static_cast<std::size_t>(d)];  // (i + j) - i reads i, for nothing
        ++completed;
      }
    }
  }
  for (int k = 0; k < level_kind_count; ++k) {
    CAPTURE(name_of(static_cast<LevelKind>(k)));
    CHECK(kinds[static_cast<std::size_t>(k)] > 30);
  }
  CHECK(completed > 3000);
  CHECK(cancelled * 100 < completed);
  CHECK(sums > 100);
  CHECK(named > 5);
  CHECK(blocked > 500);
}

TEST_CASE("the tightness of skews and quotients") {
  const auto check = [](const char* text, const Coordinates& shape, const std::vector<LevelRange>& expected) {
    CAPTURE(text);
    const Format f = parse_format(text);
    CHECK(f.level_ranges(shape) == expected);
    std::vector<LevelRange> seen(expected.size(),
                                 {std::numeric_limits<std::int64_t>::max(), std::numeric_limits<std::int64_t>::min()});
    for_each_coordinate(shape, [&](const Coordinates& dims) {
      const auto lvls = levels_of(f, dims);
      for (std::size_t l = 0; l < lvls.size(); ++l)
        seen[l] = {std::min(seen[l].lo, lvls[l]), std::max(seen[l].size, lvls[l])};
    });
    for (std::size_t l = 0; l < expected.size(); ++l)
      CHECK(LevelRange{seen[l].lo, seen[l].size - seen[l].lo + 1} == expected[l]);
  };
  check("DIAI", {3, 5}, {{-2, 7}, {0, 3}});
  check("DIAJ", {1, 1}, {{0, 1}, {0, 1}});
  check("SkewDIAI", {4, 2}, {{0, 5}, {0, 4}});
  check("BSR(2, 3)", {5, 7}, {{0, 3}, {0, 3}, {0, 2}, {0, 3}});
  check("(i, j) -> ((j - i) / 4 : compressed, (j - i) % 4 : dense, i : range)", {6, 9}, {{-2, 5}, {0, 4}, {0, 6}});
  check("(i, j) -> ((i - j) / 3 : compressed, (i - j) % 3 : dense, j : dense)", {7, 4}, {{-1, 4}, {0, 3}, {0, 4}});
}

TEST_CASE("empty and huge shapes") {
  const Format dia = parse_format("DIAI"), bsr = parse_format("BSR(2, 3)");
  CHECK(dia.level_ranges(Coordinates{0, 5})[0].size == 0);
  CHECK(dia.level_ranges(Coordinates{5, 0})[0].size == 0);
  CHECK(bsr.level_ranges(Coordinates{0, 4}) == std::vector<LevelRange>{{0, 0}, {0, 2}, {0, 2}, {0, 3}});
  CHECK(Format().level_ranges(Coordinates{}).empty());
  const std::int64_t most = std::numeric_limits<std::int64_t>::max();
  CHECK(parse_format("CSR").level_ranges(Coordinates{most, most})[1].size == most);
  CHECK_THROWS_AS(parse_format("SkewDIAI").level_ranges(Coordinates{most, 2}), FormatError);
  CHECK_THROWS_AS(dia.level_ranges(Coordinates{most, most}), FormatError);
  CHECK_THROWS_AS(bsr.level_ranges(Coordinates{most, 2}), FormatError);  // the last block would end beyond 64 bits
  CHECK(bsr.level_ranges(Coordinates{most - 1, 2})[0].size == most / 2);
  CHECK_THROWS_AS(bsr.level_ranges(Coordinates{2}), FormatError);
  CHECK_THROWS_AS(bsr.level_range(0, Coordinates{2, -1}), FormatError);
  try {
    dia.level_ranges(Coordinates{most, most});
  } catch (const FormatError& e) { CHECK(e.problem().what == "the coordinates of level 'j - i' exceed 64 bits"); }
}

TEST_CASE("coordinates outside of every tensor wrap instead of trapping") {
  const std::int64_t least = std::numeric_limits<std::int64_t>::min();
  Coordinates lvls(4), dims(2);
  const Format f = parse_format("BSR(2, 3)"), dia = parse_format("DIAI");
  f.dim2lvl(Coordinates{least, least}, lvls);
  f.lvl2dim(Coordinates{least, least, least, least}, dims);
  dia.lvl2dim(Coordinates{least, least}, dims);
  f.dim2lvl(Coordinates{-1, -4}, lvls);
  CHECK(lvls == Coordinates{-1, -2, 1, 2});  // `/` floors, `%` is not negative
}

TEST_CASE("the fill of formats, order, uniqueness") {
  const auto fill = [](const char* text) { return parse_format(text).can_hold_fill(); };
  CHECK(fill("(i, j) -> (i: dense, j: singleton)"));
  CHECK_FALSE(fill("(i, j) -> (i: compressed, j: singleton)"));
  CHECK(fill("(i, j) -> (i: dense, j: delta(3))"));
  CHECK(fill("(i, j, k) -> (i: compressed, j: delta(3), k: singleton)"));
  CHECK_FALSE(fill("(i, j, k) -> (i: delta(3), j: compressed, k: singleton)"));
  CHECK_FALSE(fill("(b, i, j) -> (b: batch, i: dense, j: compressed)"));
  CHECK(fill("(b) -> (b: batch)"));
  CHECK(fill("COO + BSR(2, 2)"));
  CHECK_FALSE(fill("COO + CSR"));
  CHECK(parse_format("COO").is_unique());
  CHECK(parse_format("COO(3)").is_unique());
  CHECK_FALSE(parse_format("(i, j) -> (i: compressed(nonunique), j: singleton(nonunique))").is_unique());
  CHECK_FALSE(parse_format("(i, j) -> (i: compressed(nonunique), j: dense)").is_unique());
  CHECK_FALSE(parse_format("(i, j) -> (i: dense, j: compressed(nonunique))").is_unique());
  CHECK_FALSE(parse_format("CSR + COO").is_unique());
  CHECK(parse_format("CSR").is_ordered());
  CHECK_FALSE(parse_format("(i, j) -> (i: dense, j: compressed(unordered))").is_ordered());
  CHECK(parse_format("CSR(2, 1)").num_batch_levels() == 2);
  CHECK(parse_format("dense(3)").is_all_dense());
  CHECK(parse_format("(b, i) -> (b: batch, i: dense)").is_all_dense());
  CHECK_FALSE(parse_format("CSR").is_all_dense());
  CHECK_FALSE(parse_format("dense + CSR").is_all_dense());
  CHECK(parse_format("CSC").is_identity());
  CHECK_FALSE(parse_format("BSR(1, 1)").is_identity());
}

TEST_CASE("identity is structure: names do not count, everything else does") {
  const Format csr = parse_format("CSR");
  CHECK(parse_format("(x, y) -> (x: dense, y: compressed)") == csr);
  CHECK(std::hash<Format>()(parse_format("(x, y) -> (x: dense, y: compressed)")) == csr.hash());
  CHECK_FALSE(parse_format("(x, y) -> (y: dense, x: compressed)") == csr);
  CHECK_FALSE(parse_format("(i, j) -> (i: dense, j: compressed(unordered))") == csr);
  CHECK_FALSE(parse_format("(i, j) -> (i: dense, j: compressed(nonunique))") == csr);
  CHECK_FALSE(parse_format("CSR + COO") == parse_format("COO + CSR"));
  CHECK_FALSE(parse_format("CSR + CSR") == csr);
  CHECK_FALSE(parse_format("BSR(2, 2)") == parse_format("BSR(2, 4)"));
  CHECK_FALSE(parse_format("ELL") == parse_format("ELL(3)"));
  std::map<std::size_t, std::string> hashes;
  int collisions = 0;
  std::mt19937_64 random(5);
  for (int k = 0; k < 1000; ++k) {
    const Format f = random_format(random, 3, {.any_tensor = false});
    const auto [it, fresh] = hashes.emplace(f.hash(), f.to_string());
    if (!fresh && !(parse_format(it->second) == f)) ++collisions;
  }
  CHECK(collisions == 0);
}

TEST_CASE("rename and transpose") {
  const Format f = parse_format("(i, j, k) -> (j - i : compressed, i : range, k / 2 : dense, k % 2 : bitmap)");
  const std::vector<std::string> names = {"row", "col", "_t2"};
  CHECK(f.rename(names) == f);
  CHECK(f.rename(names).to_string() ==
        "(row, col, _t2) -> (col - row : compressed, row : range, _t2 / 2 : dense, _t2 % 2 : bitmap)");
  CHECK_THROWS_AS(f.rename(std::vector<std::string>{"a", "b"}), FormatError);
  CHECK_THROWS_AS(f.rename(std::vector<std::string>{"a", "b", "a"}), FormatError);
  CHECK_THROWS_AS(f.rename(std::vector<std::string>{"a", "b", ""}), FormatError);
  CHECK_THROWS_AS(f.rename(std::vector<std::string>{"a", "b", "c) -> ("}), FormatError);
  CHECK_THROWS_AS(f.rename(std::vector<std::string>{"a", "b", "2c"}), FormatError);
  CHECK_THROWS_AS(f.rename(std::vector<std::string>{"a", "b", std::string(65, 'c')}), FormatError);
  const std::vector<int> swap = {1, 0}, turn = {2, 0, 1};
  CHECK(parse_format("CSR").transpose(swap) == parse_format("CSC"));
  CHECK(parse_format("CSR").transpose(swap).to_string() == "(j, i) -> (i : dense, j : compressed)");
  CHECK(parse_format("BSR(2, 3)").transpose(swap) ==
        parse_format("(i, j) -> (j / 2 : dense, i / 3 : compressed, j % 2 : dense, i % 3 : dense)"));
  const Format t = f.transpose(turn);
  const Coordinates x = {4, 7, 9}, tx = {9, 4, 7};
  CHECK(levels_of(f, x) == levels_of(t, tx));
  Coordinates back(3);
  t.lvl2dim(levels_of(t, tx), back);
  CHECK(back == tx);
  CHECK(parse_format(t.to_string()) == t);
  CHECK_THROWS_AS(f.transpose(swap), FormatError);
  CHECK_THROWS_AS(f.transpose(std::vector<int>{0, 1, 1}), FormatError);
  CHECK_THROWS_AS(f.transpose(std::vector<int>{0, 1, 3}), FormatError);
  CHECK_THROWS_AS(f.transpose(std::vector<int>{-1, 1, 0}), FormatError);
  std::mt19937_64 random(11);
  for (int k = 0; k < 200; ++k) {
    const Format g = random_format(random, 3, {.max_parts = 2});
    const std::vector<int> forth = {1, 2, 0}, back_again = {2, 0, 1};
    CHECK(g.transpose(forth).transpose(back_again) == g);
    CHECK(parse_format(g.transpose(forth).to_string()) == g.transpose(forth));
  }
}

TEST_CASE("too few coordinates, no such level") {
  const Format f = parse_format("BSR(2, 3)");
  Coordinates two(2), three(3), four(4);
  CHECK_THROWS_AS(f.dim2lvl(two, three), FormatError);
  CHECK_THROWS_AS(f.dim2lvl(std::span(two).first(1), four), FormatError);
  CHECK_THROWS_AS(f.lvl2dim(three, two), FormatError);
  CHECK_THROWS_AS(f.lvl2dim(four, std::span(two).first(1)), FormatError);
  CHECK_NOTHROW(f.dim2lvl(three, four));  // room to spare
  CHECK_THROWS_AS(f.level_range(4, two), FormatError);
  CHECK_THROWS_AS(f.level_range(-1, two), FormatError);
  CHECK_THROWS_AS(f.level_range(0, three), FormatError);
}
