#pragma once
// Readers of the small text files in tests/spec.
#include <fstream>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace strata::testing {

/// \n, \t, \\ and \xNN as in C.
inline std::string unescape(const std::string& s) {
  std::string out;
  for (std::size_t i = 0; i < s.size(); ++i) {
    if (s[i] != '\\' || i + 1 == s.size()) {
      out += s[i];
      continue;
    }
    const char c = s[++i];
    if (c == 'x' && i + 2 < s.size()) out += static_cast<char>(std::stoi(s.substr(i + 1, 2), nullptr, 16)), i += 2;
    else out += c == 'n' ? '\n' : c == 't' ? '\t' : c;
  }
  return out;
}

inline std::vector<std::string> lines_of(const std::string& path) {
  std::ifstream in(path);
  if (!in) throw std::runtime_error("cannot read " + path);
  std::vector<std::string> out;
  for (std::string line; std::getline(in, line);) out.push_back(line);
  return out;
}

using Record = std::vector<std::pair<std::string, std::string>>;

/// Records of "key  value" lines; an empty line ends a record, '#' in front makes a comment.
inline std::vector<Record> records_of(const std::string& path) {
  std::vector<Record> out;
  bool open = false;
  for (const auto& line : lines_of(path)) {
    if (!line.empty() && line[0] == '#') continue;
    if (line.find_first_not_of(' ') == std::string::npos) {
      open = false;
      continue;
    }
    if (!open) out.emplace_back(), open = true;
    const auto key_end = line.find(' ');
    const auto value = key_end == std::string::npos ? std::string::npos : line.find_first_not_of(' ', key_end);
    out.back().emplace_back(line.substr(0, key_end), value == std::string::npos ? "" : line.substr(value));
  }
  return out;
}

}  // namespace strata::testing
