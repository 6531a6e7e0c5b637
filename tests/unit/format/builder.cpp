// Formats as objects go through the same checks as texts.
#include <doctest/doctest.h>

#include "strata/format.h"

using namespace strata;

namespace {
std::string refusal(const FormatBuilder& b) {
  try {
    b.build();
  } catch (const FormatError& e) { return e.problem().what; }
  return "accepted";
}
}  // namespace

TEST_CASE("a builder makes what a text makes") {
  FormatBuilder f({"i", "j"});
  const int i = f.dim(0), j = f.dim(1);
  f.level(f.div(i, 2), {LevelKind::dense})
      .level(f.div(j, 3), {LevelKind::compressed})
      .level(f.mod(i, 2), {LevelKind::dense})
      .level(f.mod(j, 3), {LevelKind::dense});
  CHECK(f.build() == parse_format("BSR(2, 3)"));
  f.next_part().level(i, {.kind = LevelKind::compressed, .unique = false}).level(j, {LevelKind::singleton});
  CHECK(f.build() == parse_format("BSR(2, 3) + COO"));
  FormatBuilder dia({"i", "j"});
  const int d = dia.sub(dia.dim(1), dia.dim(0));
  dia.level(d, {LevelKind::compressed}).level(dia.dim(0), {LevelKind::range});
  CHECK(dia.build() == parse_format("DIAI"));
  CHECK(dia.build().to_string() == "(i, j) -> (j - i : compressed, i : range)");
  FormatBuilder skew({"i", "j"});
  skew.level(skew.add(skew.dim(0), skew.dim(1)), {.kind = LevelKind::delta, .arg = 4})
      .level(skew.dim(1), {LevelKind::range});
  CHECK(skew.build() == parse_format("(i, j) -> (i + j : delta(4), j : range)"));
  CHECK(FormatBuilder(std::span<const std::string>()).build() == Format());
}

TEST_CASE("a builder refuses what a text is refused for") {
  FormatBuilder f({"i", "j"});
  f.level(f.dim(0), {LevelKind::dense});
  CHECK(refusal(f) == "no level stores dimension 'j'");
  f.level(f.dim(1), {LevelKind::delta});
  CHECK(refusal(f) == "delta cannot have 0 bits");
  FormatBuilder g({"i", "i"});
  CHECK(refusal(g) == "two dimensions are called 'i'");
  CHECK(refusal(FormatBuilder({"i j"})) == "this is not the name of a dimension");
  CHECK_THROWS_AS(FormatBuilder({std::string("i\0j", 3)}), FormatError);
  CHECK_THROWS_AS(parse_format("DenseVector").rename(std::vector<std::string>{std::string("i\0j", 3)}), FormatError);
  CHECK(refusal(FormatBuilder({""})) == "this is not the name of a dimension");
  FormatBuilder h({"i"});
  h.level(h.dim(0), {.kind = LevelKind::dense, .unique = false});
  CHECK(refusal(h) == "this type of level cannot be 'nonunique'");
  FormatBuilder k({"i"});
  k.level(k.dim(0), {.kind = LevelKind::dense, .arg = 3});
  CHECK(refusal(k) == "this type of level takes no number");
  FormatBuilder s({"i"});
  s.level(s.dim(0), {LevelKind::singleton});
  CHECK(refusal(s) == "the singleton level 'i' has no parent");
  CHECK_THROWS_AS(s.dim(1), FormatError);
  CHECK_THROWS_AS(s.dim(-1), FormatError);
  CHECK_THROWS_AS(s.div(7, 2), FormatError);
  CHECK_THROWS_AS(s.div(0, 0), FormatError);
  CHECK_THROWS_AS(s.mod(0, -1), FormatError);
  CHECK_THROWS_AS(s.add(0, 65536), FormatError);
  CHECK_THROWS_AS(s.level(-1, {LevelKind::dense}), FormatError);
  CHECK_THROWS_AS(FormatBuilder(std::vector<std::string>(33, "i")), FormatError);
  CHECK_THROWS_AS(FormatBuilder({std::string(65, 'i')}), FormatError);
  FormatBuilder parts({"i"});
  for (int p = 1; p < max_parts; ++p) parts.next_part();
  CHECK_THROWS_AS(parts.next_part(), FormatError);
  FormatBuilder deep({"i"});
  int e = deep.dim(0);
  for (int n = 0; n < 9; ++n) e = deep.add(e, e);  // 1,023 nodes written out
  deep.level(e, {LevelKind::dense});
  CHECK(refusal(deep) == "an expression is too large");
  CHECK_THROWS_AS(([&] {
                    for (;;) deep.dim(0);
                  }()),
                  FormatError);
}

TEST_CASE("a literal full of nonsense is refused") {
  const auto refused = [](auto change) {
    FormatSpec s = parse_format("BSR(2, 2) + COO").spec();
    change(s);
    CHECK_THROWS_AS(Format{s}, FormatError);
  };
  refused([](FormatSpec& s) { s.num_dims = 33; });
  refused([](FormatSpec& s) { s.num_dims = -1; });
  refused([](FormatSpec& s) { s.num_dims = 1; });
  refused([](FormatSpec& s) { s.num_parts = 0; });
  refused([](FormatSpec& s) { s.num_parts = 9; });
  refused([](FormatSpec& s) { s.num_parts = 1; });
  refused([](FormatSpec& s) { s.num_levels = 65; });
  refused([](FormatSpec& s) { s.num_exprs = 513; });
  refused([](FormatSpec& s) { s.parts[0].num_levels = 40; });
  refused([](FormatSpec& s) { s.parts[1].first_level = 0; });
  refused([](FormatSpec& s) { s.levels[0].expr = -1; });
  refused([](FormatSpec& s) { s.levels[0].expr = 511; });
  refused([](FormatSpec& s) { s.levels[0].kind = static_cast<LevelKind>(9); });
  refused([](FormatSpec& s) { s.levels[0].arg = 7; });
  refused([](FormatSpec& s) { s.exprs[1].a = 1; });
  refused([](FormatSpec& s) { s.exprs[1].a = -5; });
  refused([](FormatSpec& s) { s.exprs[1].n = 0; });
  refused([](FormatSpec& s) { s.exprs[1].n = -4; });
  refused([](FormatSpec& s) { s.exprs[0].op = static_cast<ExprNode::Op>(9); });
  refused([](FormatSpec& s) { s.exprs[0].a = 2; });
  refused([](FormatSpec& s) { s.dims[0].fill('x'); });
  refused([](FormatSpec& s) { s.dims[0][0] = '\0'; });
  refused([](FormatSpec& s) { s.dims[1] = s.dims[0]; });
  FormatSpec s = parse_format("CSR").spec();
  s.parts[0].inverse.fill(77);  // not believed: derived afresh
  s.num_inverses = 0;
  CHECK(Format(s) == parse_format("CSR"));
}
