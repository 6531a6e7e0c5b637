// Named formats and texts of tests/spec/formats.txt.
#include <doctest/doctest.h>

#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <sstream>
#include <thread>

#include "strata/format.h"
#include "support/spec_file.h"

using namespace strata;
using strata::testing::records_of;

TEST_CASE("formats.txt: names, texts, notations, ranges") {
  const auto records = records_of(STRATA_TEST_DIR "/spec/formats.txt");
  CHECK(records.size() >= 45);
  for (const auto& record : records) {
    REQUIRE(record[0].first == "format");
    CAPTURE(record[0].second);
    const Format f = parse_format(record[0].second);
    CHECK(parse_format(f.to_string()) == f);
    CHECK(parse_format(f.to_string()).to_string() == f.to_string());
    CHECK(parse_format(f.to_blog_string()) == f);
    CHECK(parse_format(f.to_blog_string()).hash() == f.hash());
    CHECK(Format(f.spec()) == f);
    if (const auto name = f.name(); !name.empty()) {
      CHECK(parse_format(name) == f);
      CHECK(f.is(name));
    }
    std::vector<std::int64_t> shape;
    for (const auto& [key, value] : record) {
      if (key == "name") CHECK(f.name() == value);
      else if (key == "levels") CHECK(f.to_string() == value);
      else if (key == "blog") CHECK(f.to_blog_string() == value);
      else if (key == "fill") CHECK(f.can_hold_fill() == (value == "1"));
      else if (key == "same") {
        CAPTURE(value);
        CHECK(parse_format(value) == f);
        CHECK(parse_format(value).hash() == f.hash());
      } else if (key == "shape") {
        std::istringstream in(value);
        for (std::int64_t n; in >> n;) shape.push_back(n);
      } else if (key == "ranges") {
        std::string got;
        for (const auto& r : f.level_ranges(shape))
          got += (got.empty() ? "" : " ") + std::to_string(r.lo) + ":" + std::to_string(r.size);
        CHECK(got == value);
      } else {
        CHECK(key == "format");
      }
    }
  }
  // No two records are the same structure.
  for (std::size_t a = 0; a < records.size(); ++a)
    for (std::size_t b = 0; b < a; ++b)
      CHECK_FALSE(parse_format(records[a][0].second) == parse_format(records[b][0].second));
}

TEST_CASE("every listed name parses, and means what is listed") {
  for (const auto& [name, meaning] : format_names()) {
    CAPTURE(name);
    const auto open = name.find('(');
    const std::string bare = name.substr(0, open);
    const bool numbers_needed = open != std::string::npos && name[open + 1] != '[';
    if (numbers_needed) {
      CHECK_THROWS_AS(parse_format(bare), FormatError);
    } else {
      CHECK(parse_format(bare) == parse_format(meaning));
      std::string upper = bare;
      for (char& c : upper) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
      CHECK(parse_format(upper) == parse_format(bare));
    }
  }
}

TEST_CASE("COO, CSF and dense take the rank where one is given") {
  CHECK(parse_format("COO", 3) == parse_format("COO(3)"));
  CHECK(parse_format("coo") == parse_format("COO(2)"));
  CHECK(parse_format("CSF", 4) == parse_format("CSF(4)"));
  CHECK(parse_format("dense", 0) == Format());
  CHECK(parse_format("dense", 5).rank() == 5);
  CHECK(parse_format("DenseLeft", 3) == parse_format("(i, j, k) -> (k: dense, j: dense, i: dense)"));
  CHECK(parse_format("COO(2)", 3).rank() == 2);
  CHECK(parse_format("dense", max_dims).num_levels() == max_dims);
  CHECK_THROWS_AS(parse_format("dense", max_dims + 1), FormatError);
}

TEST_CASE("a format answers whether it is of a name") {
  CHECK(parse_format("(a, b) -> (a: dense, b: compressed)").is("csr"));
  CHECK_FALSE(parse_format("CSR").is("CSC"));
  CHECK(parse_format("COO(3)").is("COO"));
  CHECK_FALSE(parse_format("COO(3)").is("COO(2)"));
  CHECK(parse_format("BSR(2, 3)").is("BSR"));
  CHECK(parse_format("BSRLeft(2, 3)").is("BSR"));
  CHECK_FALSE(parse_format("BSRLeft(2, 3)").is("BSRRight"));
  CHECK(parse_format("BSR(2, 3)").is("BSR(2, 3)"));
  CHECK_FALSE(parse_format("BSR(2, 3)").is("BSR(3, 2)"));
  CHECK_FALSE(parse_format("CSR(1)").is("CSR"));
  CHECK(parse_format("delta(7)").is("delta"));
  CHECK(parse_format("ELL(7)").is("ELL"));
  CHECK(parse_format("BSR(4, 4) + COO").is("BSR(4, 4) + COO"));
  CHECK_FALSE(parse_format("(i, j) -> (i: dense, j: compressed(unordered))").is("CSR"));
  CHECK_THROWS_AS(parse_format("CSR").is("CRS"), FormatError);
}

TEST_CASE("users register names of their own") {
  register_format("Striped", "(i, j) -> ((j - i) / 4 : compressed, (j - i) % 4 : dense, i : range)");
  const Format f = parse_format("striped");
  CHECK(f.num_levels() == 3);
  CHECK(parse_format("STRIPED + COO").num_parts() == 2);
  register_format("striped", "BSR(2, 2) + COO");
  CHECK(parse_format("COO + Striped").num_parts() == 3);
  CHECK(format_names().back().second == parse_format("Striped").to_string());
  CHECK_THROWS_AS(register_format("csr", "CSC"), FormatError);
  CHECK_THROWS_AS(register_format("TensorFormat", "CSC"), FormatError);
  CHECK_THROWS_AS(register_format("", "CSC"), FormatError);
  CHECK_THROWS_AS(register_format("a b", "CSC"), FormatError);
  CHECK_THROWS_AS(register_format("2d", "CSC"), FormatError);
  CHECK_THROWS_AS(register_format(std::string(65, 'x'), "CSC"), FormatError);
  CHECK_THROWS_AS(register_format("broken", "(i) -> (i: dens)"), FormatError);
  CHECK_THROWS_AS(parse_format("broken"), FormatError);
  CHECK_THROWS_AS(parse_format("Striped(2)"), FormatError);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([t] {
      for (int k = 0; k < 200; ++k) {
        register_format("thread" + std::to_string(t), "COO(" + std::to_string(1 + k % 5) + ")");
        if (parse_format("thread" + std::to_string(t)).rank() != 1 + k % 5) std::terminate();
        format_names();
      }
    });
  for (auto& t : threads) t.join();
}

TEST_CASE("a child of a busy process parses") {
  register_format("busy", "CSR");
  std::atomic<bool> stop = false;
  std::thread busy([&] {
    for (int k = 0; !stop; ++k) {
      parse_format("BSR(" + std::to_string(1 + k % 500) + ", 2)").name();
      register_format("busy", "CSR");
    }
  });
  for (int k = 0; k < 20; ++k) {
    const pid_t child = fork();
    if (child == 0) {
      alarm(10);  // a lock that nobody holds ends the child
      const bool good = parse_format("busy", 2) == parse_format("CSR") && parse_format("CSC").name() == "CSC";
      _exit(good ? 0 : 1);
    }
    int status = -1;
    REQUIRE(waitpid(child, &status, 0) == child);
    CHECK(status == 0);
  }
  stop = true;
  busy.join();
}
