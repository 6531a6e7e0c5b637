// FROSTT files: legal spellings, malformed ones with their place, and what is written reads back bit for bit.
#include <doctest/doctest.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <limits>

#include "strata/io.h"
#include "strata/ops.h"
#include "strata/settings.h"

using namespace strata;

namespace {

std::string message_of(const std::string& text, const FrosttOptions& options = {}) {
  try {
    parse_frostt(text, "f", options);
  } catch (const Error& e) { return e.what(); }
  return "";
}

}  // namespace

TEST_CASE("a FROSTT file") {
  const Tensor t = parse_frostt("# a comment\n1 2 3 1.5\n\n  2 1 1\t-2e3  # behind\r\n1 2 3 0.25\n2 3 1 +7");
  CHECK(t.format() == parse_format("COO", 3));
  CHECK(t.shape() == Shape{2, 3, 3});
  CHECK(t.nse() == 3);  // duplicates are added
  CHECK(t({0, 1, 2}).to_double() == 1.75);
  CHECK(t({1, 0, 0}).to_double() == -2000);
  CHECK(t({1, 2, 0}).to_double() == 7);
  t.validate();
  const Tensor told = parse_frostt("1 1 5\n", "f", {.shape = {4, 6}, .dtype = DType::i64});
  CHECK(told.shape() == Shape{4, 6});
  CHECK(told.dtype() == DType::i64);
  CHECK(parse_frostt("# shape: 4 6\n1 1 5\n").shape() == Shape{4, 6});
  CHECK(parse_frostt("# shape: 4 0\n").nse() == 0);
  CHECK(parse_frostt("7 2\n").shape() == Shape{7});
  CHECK(parse_frostt("3000000000 1 2\n").type().crd_dtype == DType::i64);  // does not fit 32 bits: read once more
  CHECK(parse_frostt("3000000000 1 2\n").shape() == Shape{3000000000, 1});
  CHECK(parse_frostt("2 18446744073709551615\n", "f", {.shape = {}, .dtype = DType::u64})({1}).to_string() ==
        "18446744073709551615");
}

TEST_CASE("malformed FROSTT files are refused at the right place") {
  struct Case {
    const char *text, *message;
  };
  const Case cases[] = {
      {"", "f, line 1, column 1: no element"},
      {"# only a comment\n", "f, line 1, column 1: no element"},
      {"1\n", "f, line 1, column 2: the line ends before its value"},
      {"1 2 3 4\n1 2 3\n", "f, line 2, column 6: the line ends before its value"},
      {"1 2 3 4\n1 2\n", "f, line 2, column 4: the line ends before coordinate 3"},
      {"1 2 3 4\n1 2 3 4 5\n", "f, line 2, column 9: the line holds more than one entry"},
      {"1 2 3 4\n1 0 3 4\n", "f, line 2, column 3: coordinate 2 is outside the tensor"},
      {"1 2 3 4\n1 -1 3 4\n", "f, line 2, column 3: coordinate 2 is no index"},
      {"1 2 3 4\n1 1.0 3 4\n", "f, line 2, column 3: coordinate 2 is no index"},
      {"1 99999999999999999999 3\n", "f, line 1, column 3: coordinate 2 is outside the tensor"},
      {"1 2 1,5\n", "f, line 1, column 5: the value is not a number"},
      {"1 2 0x10\n", "f, line 1, column 5: the value is not a number"},
      {"1 2 1e400\n", "f, line 1, column 5: the value does not fit float64"},
      {"# shape: 2 2\n1 3 1\n", "f, line 2, column 3: coordinate 2 is outside the tensor"},
      {"# shape: 2 2\n1 1 1 1\n", "f, line 2, column 1: another number of coordinates"},
      {"# shape: 2 x\n1 1 1\n", "f, line 1, column 12: no shape"},
      {"\x1f\x8b....", "f, line 1, column 1: a gzip file"},
  };
  for (const Case& c : cases) {
    CAPTURE(c.text);
    const std::string message = message_of(c.text);
    CAPTURE(message);
    CHECK(message.rfind(c.message, 0) == 0);
  }
  CHECK(message_of("1 1 1.5\n", {.shape = {}, .dtype = DType::i64}).find("not a number of the file's field") !=
        std::string::npos);
  CHECK(message_of("1 1 1\n", {.shape = {}, .dtype = DType::c128}).find("float64, int64 or uint64") !=
        std::string::npos);
}

TEST_CASE("every cut and damaged byte of a FROSTT file is refused or valid") {
  const std::string text = "# shape: 3 4 5\n1 1 1 1.5\n2 3 4 -2e1\n3 4 5 nan\n";
  for (std::size_t n = 0; n <= text.size(); ++n) {
    try {
      parse_frostt(text.substr(0, n)).validate();
    } catch (const FileError&) {}
    for (const char c : {'\0', '\n', ' ', '9', '-', '#', '\xff'}) {
      std::string damaged = text;
      if (n == text.size()) break;
      damaged[n] = c;
      try {
        parse_frostt(damaged).validate();
      } catch (const FileError&) {}
    }
  }
}

TEST_CASE("long FROSTT files are parsed in pieces, in any order") {
  const std::int64_t n = 200'000;  // several megabytes
  std::string text;
  for (std::int64_t k = 0; k < n; ++k)
    text += std::to_string(k / 100 + 1) + " " + std::to_string(k % 100 + 1) + " 7 " + std::to_string(k) + "\n";
  const Tensor sorted = parse_frostt(text);
  CHECK(sorted.nse() == n);
  sorted.validate();
  std::string backwards;
  for (std::size_t end = text.size(); end > 0;) {
    const std::size_t begin = end >= 2 ? text.rfind('\n', end - 2) + 1 : 0;
    backwards += text.substr(begin, end - begin);
    end = begin;
  }
  CHECK(same_storage(parse_frostt(backwards), sorted));
  double last = 0;
  int calls = 0;
  parse_frostt(text, "f", {}, [&](double share) {
    CHECK(share >= last);
    last = share;
    ++calls;
  });
  CHECK(last == 1.0);
  CHECK(calls >= 2);
}

TEST_CASE("what is written to a FROSTT file reads back bit for bit") {
  const std::string path = (std::filesystem::temp_directory_path() / "strata_frostt_test.tns").string();
  std::vector<std::uint64_t> bits = {0x7FF8000000000001, 0x8000000000000000, 0x7FEFFFFFFFFFFFFF, 1, 0};
  std::vector<std::int64_t> i = {0, 1, 2, 3, 3}, j = {4, 3, 2, 1, 2}, k = {0, 0, 0, 0, 0};
  Buffer values = Buffer::borrow(DType::f64, bits.data(), 5);
  const Buffer coords[] = {Buffer::copy_of(std::span<const std::int64_t>(i)),
                           Buffer::copy_of(std::span<const std::int64_t>(j)),
                           Buffer::copy_of(std::span<const std::int64_t>(k))};
  for (const char* format : {"COO", "CSF", "(i, j, k) -> (i : dense, j : dense, k : dense)"}) {
    const Tensor t = from_coo(coords, values, {6, 7, 2}, parse_format(format, 3));
    write_frostt(path, t);
    const Tensor back = read_frostt(path);
    CHECK(back.shape() == t.shape());
    if (!t.format().is_all_dense()) CHECK(same_storage(back, convert(t, parse_format("COO", 3))));
  }
  CHECK_THROWS_AS(write_frostt(path, Tensor()), FileError);
  std::filesystem::remove(path);
}
