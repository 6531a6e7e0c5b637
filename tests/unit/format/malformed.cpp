// What is refused, and how the message reads.
#include <doctest/doctest.h>

#include <chrono>

#include "strata/format.h"
#include "support/spec_file.h"

using namespace strata;
using namespace strata::testing;

namespace {
Problem problem_of(const std::string& text) {
  try {
    parse_format(text);
  } catch (const FormatError& e) { return e.problem(); }
  FAIL("accepted: " << text);
  return {};
}
std::string message_of(const std::string& text) {
  try {
    parse_format(text);
  } catch (const FormatError& e) { return e.what(); }
  FAIL("accepted: " << text);
  return {};
}
std::string repeat(const std::string& s, int n) {
  std::string out;
  for (int k = 0; k < n; ++k) out += s;
  return out;
}
}  // namespace

TEST_CASE("malformed_formats.txt: every text is refused, at its place") {
  int count = 0;
  for (const auto& line : lines_of(STRATA_TEST_DIR "/spec/malformed_formats.txt")) {
    if (line.empty() || line[0] == ';') continue;
    const auto cut = line.find(" ;; ");
    REQUIRE(cut != std::string::npos);
    const std::string text = unescape(line.substr(0, cut)), expected = unescape(line.substr(cut + 4));
    CAPTURE(line);
    const Problem p = problem_of(text);
    CHECK(p.what.find(expected) != std::string::npos);
    CHECK(p.where.begin <= p.where.end);
    CHECK(p.where.end <= text.size());
    CHECK(p.text == text);
    ++count;
  }
  CHECK(count >= 200);
}

TEST_CASE("every cut of a good text is refused or good, and every changed byte") {
  const std::string texts[] = {
      "(i, j) -> (i / 2 : dense, j - i : compressed(nonunique, unordered), i % 2 : dense) + BSR(2, 3)  # blocks",
      "TensorFormat([i, j] -> {i: <LevelFormat.DENSE>, j: (<LevelFormat.DELTA>, 2)})"};
  for (const auto& text : texts) {
    for (std::size_t n = 0; n < text.size(); ++n) {
      try {
        parse_format(text.substr(0, n));
      } catch (const FormatError&) {}
      for (int byte = 0; byte < 256; byte += 3) {
        std::string changed = text;
        changed[n] = static_cast<char>(byte);
        try {
          const Format f = parse_format(changed);
          REQUIRE(parse_format(f.to_string()) == f);
        } catch (const FormatError& e) { REQUIRE(e.problem().where.end <= changed.size()); }
      }
    }
  }
}

TEST_CASE("limits stand before work") {
  const auto start = std::chrono::steady_clock::now();
  CHECK(problem_of(repeat("(", 100000)).what == "unexpected '('");
  CHECK(problem_of("(i) -> (" + repeat("(", 100000)).what == "the expression is nested too deeply");
  CHECK(problem_of("(i) -> (i" + repeat(" / 2", 100000) + " : dense)").what == "the expression is nested too deeply");
  CHECK(problem_of("(i) -> (i" + repeat(" + i", 100000) + " : dense)").what == "the expression is nested too deeply");
  CHECK(problem_of("(i) -> (" + repeat("i : dense, ", 100000)).what == "too many levels");
  CHECK(problem_of("(" + repeat("i, ", 2)).what == "two dimensions are called 'i'");
  std::string many = "(";
  for (int d = 0; d < 60000; ++d) many += "x" + std::to_string(d) + ", ";
  CHECK(problem_of(many).what == "too many dimensions");
  CHECK(problem_of(repeat("COO+", 100000)).what == "a sum has at most 8 parts");
  CHECK(problem_of("(" + std::string(2000000, 'x') + ") -> ()").what == "the name of a dimension is too long");
  CHECK(problem_of(std::string(2000000, 'x')).expected == "'(dims) -> (levels)' or the name of a format");
  CHECK(problem_of("(i) -> (i : " + std::string(2000000, 'x') + ")").what.size() < 200);
  CHECK(problem_of("(i) -> (i / " + std::string(2000000, '9') + " : dense)").what.size() < 200);
  CHECK(problem_of(std::string(2000000, '\0')).what == std::string("unexpected '\0'", 14));
  CHECK(problem_of("#" + std::string(2000000, 'x')).what == "the format is empty");
  CHECK(message_of(std::string(2000000, '(')).size() < 2000);
  CHECK(parse_format(std::string(2000000, ' ') + "CSR # " + std::string(2000000, 'x')) == parse_format("CSR"));
  CHECK(parse_format("(i) -> (i / " + std::string(100000, '0') + "2 : dense, i % 2 : dense)").rank() == 1);
  // 32 dimensions that hang on each other: the inverse would double and double again
  std::string dims, levels;
  for (int d = 0; d < 32; ++d) {
    const auto name = [](int k) { return "x" + std::to_string(k); };
    dims += (d ? ", " : "") + name(d);
    levels +=
        (d ? ", " : "") + (d < 2 ? name(d) : "(" + name(d - 1) + " + " + name(d) + ") + " + name(d - 2)) + " : dense";
  }
  CHECK(problem_of("(" + dims + ") -> (" + levels + ")").what == "the expressions of the levels are too entangled");
  CHECK(std::chrono::steady_clock::now() - start < std::chrono::seconds(2));
}

TEST_CASE("deep but legal nesting") {
  CHECK(parse_format("(i) -> (" + repeat("(", 60) + "i" + repeat(")", 60) + " : dense)") ==
        parse_format("DenseVector"));
  std::string levels;
  for (int k = 0; k < 25; ++k) levels += "i" + repeat(" / 2", k) + " % 2 : dense, ";
  const Format f = parse_format("(i) -> (" + levels + "i" + repeat(" / 2", 25) + " : dense)");
  CHECK(f.num_levels() == 26);
  const std::vector<std::int64_t> i = {0x123456789ABCDEF};
  std::vector<std::int64_t> l(26), back(1);
  f.dim2lvl(i, l);
  f.lvl2dim(l, back);
  CHECK(back == i);
}

TEST_CASE("messages") {
  CHECK(message_of("(i, j) -> (i: dense, j: compresed)") ==
        "no level type 'compresed'\n"
        "    (i, j) -> (i: dense, j: compresed)\n"
        "                            ^~~~~~~~~\n"
        "  expected  batch, bitmap, compressed, delta, dense, padded, range, singleton, structured\n"
        "  got       compresed\n"
        "  fix       write 'compressed'");
  CHECK(message_of("(row, col) -> (rwo : dense, col : compressed)") ==
        "no dimension is called 'rwo'\n"
        "    (row, col) -> (rwo : dense, col : compressed)\n"
        "                   ^~~\n"
        "  expected  row, col\n"
        "  got       rwo\n"
        "  fix       write 'row'");
  CHECK(message_of("(i, j) -> (i // 2 : dense, j : dense)") ==
        "'i // 2' lacks its other half\n"
        "    (i, j) -> (i // 2 : dense, j : dense)\n"
        "               ^~~~~~\n"
        "  expected  e / n and e % n of the same e and n\n"
        "  got       i // 2\n"
        "  fix       add a level 'i % 2'");
  CHECK(message_of("(i, j) -> (i: compressed(nonuniqe), j: singleton)") ==
        "no level property 'nonuniqe'\n"
        "    (i, j) -> (i: compressed(nonuniqe), j: singleton)\n"
        "                             ^~~~~~~~\n"
        "  expected  unique, nonunique, ordered, unordered or a number\n"
        "  got       nonuniqe\n"
        "  fix       write 'nonunique'");
  CHECK(message_of("CRS") ==
        "no format is called 'CRS'\n"
        "    CRS\n"
        "    ^~~\n"
        "  expected  '(dims) -> (levels)' or the name of a format\n"
        "  got       CRS\n"
        "  fix       write 'CSR'");
  CHECK(message_of("(i, j) -> (\n  i : dense,\n  j : delta(99)\n)") ==
        "delta cannot have 99 bits\n"
        "      j : delta(99)\n"
        "                ^~\n"
        "  expected  from 1 to 32 bits\n"
        "  got       99\n"
        "  fix       write delta(8)");
  CHECK(message_of("(i, j) -> (i: dense") ==
        "the format ends too early\n"
        "    (i, j) -> (i: dense\n"
        "                       ^\n"
        "  expected  ',' or ')'");
  CHECK(problem_of("(i, j) -> (j - i : compressed)").fix == "add a level 'j' or 'i'");
  CHECK(problem_of("(i, j) -> (i : dense)").fix == "add a level 'j : dense'");
  CHECK(problem_of("(i) -> ((i / 4) % 2 : dense, i % 4 : dense)").fix == "add a level '(i / 4) / 2'");
  CHECK(problem_of("(i, j) -> (i: dense, j: comp)").fix == "write 'compressed'");
  CHECK(problem_of("sparsvector").fix == "write 'SparseVector'");
  CHECK(problem_of("hyperblock").fix == "");
  CHECK(problem_of("(i) -> (i // -2 : dense, i % -2 : dense)").got == "-2");
  CHECK(problem_of("csr_matrix").fix == "write 'CSR'");
  CHECK(problem_of("BSR2x2").fix == "write 'BSR(m, n[, batch[, dense]])'");
  CHECK(problem_of("bsr").fix == "write 'BSR(m, n[, batch[, dense]])'");
  CHECK(problem_of("Structured2:4").fix == "write 'structured(n, m)'");
  CHECK(problem_of("CSR(40, 1)").fix == "write 'CSR'");
  CHECK(problem_of("(i, j) => (i: dense, j: dense)").fix == "write '->'");
  CHECK(problem_of("DnMat(3)").fix == "write 'DnMat'");
  CHECK(problem_of("DnMat(3)").expected == "this name without numbers");
  CHECK(problem_of("COO3(3)").expected == "this name without numbers");
}
