#pragma once
// The corpus of malformed Matrix Market files (tests/spec/malformed_mtx.txt).
#include <fstream>
#include <stdexcept>
#include <string>
#include <vector>

struct MalformedCase {
  std::string name, fragment, text;
  std::string line, column;
};

/// \0, \r, \xNN and \\ as in C.
inline std::string unescape(const std::string& s) {
  std::string out;
  for (std::size_t i = 0; i < s.size(); ++i) {
    if (s[i] != '\\') {
      out += s[i];
    } else if (s.compare(i, 2, "\\0") == 0) {
      out += '\0', ++i;
    } else if (s.compare(i, 2, "\\r") == 0) {
      out += '\r', ++i;
    } else if (s.compare(i, 2, "\\x") == 0) {
      out += static_cast<char>(std::stoi(s.substr(i + 2, 2), nullptr, 16)), i += 3;
    } else {
      throw std::runtime_error("unknown escape in the corpus: " + s);
    }
  }
  return out;
}

inline std::vector<MalformedCase> read_malformed_cases(const std::string& path) {
  std::ifstream file(path);
  std::vector<MalformedCase> cases;
  for (std::string line; std::getline(file, line);) {
    if (line.rfind("case", 0) == 0) {
      cases.push_back({.name = line.substr(8), .fragment = {}, .text = {}, .line = {}, .column = {}});
    } else if (line.rfind("expect", 0) == 0) {
      const auto a = line.find(' ', 8), b = line.find_first_not_of(' ', line.find(' ', a + 1));
      cases.back().line = line.substr(8, a - 8);
      cases.back().column = line.substr(a + 1, line.find(' ', a + 1) - a - 1);
      cases.back().fragment = line.substr(b);
    } else if (line == "|\\") {
      cases.back().text.pop_back();
    } else if (line.rfind('|', 0) == 0) {
      cases.back().text += unescape(line.substr(1)) + "\n";
    }
  }
  return cases;
}
