#pragma once
// Texts that are kept as files. STRATA_GOLDEN=update renews them; read the difference.
#include <doctest/doctest.h>

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>

/// Compares with tests/golden/FILE.
inline void check_golden(const std::string& file, const std::string& text) {
  const std::string path = std::string(STRATA_TEST_DIR) + "/golden/" + file;
  if (const char* mode = std::getenv("STRATA_GOLDEN"); mode && std::string(mode) == "update")
    std::ofstream(path) << text;
  std::ifstream in(path);
  std::ostringstream expected;
  expected << in.rdbuf();
  INFO("tests/golden/" << file << " differs; STRATA_GOLDEN=update renews it. Now:\n" << text);
  CHECK((expected.str() == text));
}
