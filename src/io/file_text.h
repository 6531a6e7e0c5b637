#pragma once
// A text that is read line by line, errors that name line and column, and parsers of one word.
#include <cstdint>
#include <string>
#include <string_view>

#include "strata/error.h"

namespace strata::io {

/// A text and the name that messages call it by.
struct FileText {
  std::string_view text;
  std::string name;

  const char* begin() const { return text.data(); }
  const char* end() const { return text.data() + text.size(); }
  /// Throws FileError: "<name>, line 3, column 7: <what>", with the line and carets under `length` bytes at `at`.
  [[noreturn]] void fail(const char* at, std::size_t length, Problem problem) const;
};

/// Refuses what others pack or prefix texts with: gzip, zip, a byte-order mark. `suffix` is what such files are called.
void refuse_packed(const FileText& source, const std::string& suffix);

inline bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r'; }
inline const char* skip_blanks(const char* p, const char* end) {
  while (p != end && is_blank(*p)) ++p;
  return p;
}
inline bool at_line_end(const char* p, const char* end) { return p == end || *p == '\n'; }
/// The word at p: up to a blank or the end of the line.
inline std::string_view word_at(const char* p, const char* end) {
  const char* q = p;
  while (q != end && !is_blank(*q) && *q != '\n') ++q;
  return {p, static_cast<std::size_t>(q - p)};
}
/// Past the newline of the line at p, or `end`.
const char* next_line(const char* p, const char* end);
/// Does the line at p hold data: neither blank nor a comment, which begins with `mark`?
inline bool has_data(const char* p, const char* end, char mark = '%') {
  p = skip_blanks(p, end);
  return !at_line_end(p, end) && *p != mark;
}

inline std::string clipped(std::string_view word) { return std::string(word.substr(0, 64)); }

/// Parsers of one word. Each returns the end of what it read, or null where the word at p is malformed; the caller
/// checks that the word ends there. `too_large` is set where the word is well formed but does not fit.
const char* parse_count(const char* p, const char* end, std::int64_t& value, bool& too_large);
const char* parse_integer(const char* p, const char* end, std::int64_t& value, bool& too_large);
const char* parse_unsigned(const char* p, const char* end, std::uint64_t& value, bool& too_large);
const char* parse_real(const char* p, const char* end, double& value, bool& too_large);

}  // namespace strata::io
