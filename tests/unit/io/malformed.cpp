// Every malformed file is refused, and the message names the place.
#include <doctest/doctest.h>

#include "malformed.h"
#include "strata/io.h"

TEST_CASE("malformed Matrix Market files are refused at the right place") {
  const auto cases = read_malformed_cases(STRATA_TEST_DIR "/spec/malformed_mtx.txt");
  REQUIRE(cases.size() >= 150);
  for (const auto& c : cases) {
    CAPTURE(c.name);
    std::string message;
    try {
      strata::parse_matrix_market(c.text, "f");
    } catch (const strata::FileError& e) { message = e.what(); }
    CAPTURE(message);
    CHECK(message.rfind("f, line " + c.line + ", column " + c.column + ": ", 0) == 0);
    CHECK(message.find(c.fragment) != std::string::npos);
  }
}

TEST_CASE("a malformed file tells what was expected, what came and how to mend it") {
  try {
    strata::parse_matrix_market("%%MatrixMarket matrix coordinate real general\n2 2 1\n1 0 1,5\n", "bar.mtx");
    FAIL("accepted");
  } catch (const strata::FileError& e) {
    CHECK(std::string(e.what()) ==
          "bar.mtx, line 3, column 3: the column is outside the matrix\n"
          "    1 0 1,5\n"
          "      ^\n"
          "  expected  from 1 to 2\n"
          "  got       0\n"
          "  fix       indices start at 1");
  }
}

TEST_CASE("every cut of a file is refused or valid, never a crash") {
  const std::string text =
      "%%MatrixMarket matrix coordinate complex hermitian\n% c\n3 3 3\n1 1 1 0\n2 1 1.5e2 -3\n3 3 -7 0\n";
  int valid = 0;
  for (std::size_t n = 0; n <= text.size(); ++n) {
    try {
      const strata::Tensor t = strata::parse_matrix_market(text.substr(0, n));
      t.validate();
      ++valid;
      CHECK(t.nse() == 4);
    } catch (const strata::FileError&) {}
  }
  CHECK(valid == 2);  // with and without the last newline
}

TEST_CASE("damaged bytes are refused or valid, never a crash") {
  const std::string text = "%%MatrixMarket matrix coordinate real symmetric\n% c\n3 3 3\n1 1 1.25\n2 1 1.5e2\n3 3 -7\n";
  for (std::size_t k = 0; k < text.size(); ++k)
    for (const char c : {'\0', '\n', ' ', '9', '-', '%', '\xff'}) {
      std::string damaged = text;
      damaged[k] = c;
      try {
        strata::parse_matrix_market(damaged).validate();
      } catch (const strata::FileError&) {}
    }
}
