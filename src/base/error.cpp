#include "strata/error.h"

#include <algorithm>
#include <string_view>

namespace strata {
namespace {

/// Length of the valid UTF-8 sequence at s[i], or 0. Overlong forms and surrogates are not valid: Python could not
/// decode them.
std::size_t utf8_length(std::string_view s, std::size_t i) {
  const auto byte = [&](std::size_t k) { return static_cast<unsigned char>(k < s.size() ? s[k] : 0); };
  const auto tail = [&](std::size_t k) { return (byte(k) & 0xC0) == 0x80; };
  const unsigned char c = byte(i);
  if (c >= 0xC2 && c <= 0xDF) return tail(i + 1) ? 2 : 0;
  if (c >= 0xE0 && c <= 0xEF) {
    if (!tail(i + 1) || !tail(i + 2)) return 0;
    if ((c == 0xE0 && byte(i + 1) < 0xA0) || (c == 0xED && byte(i + 1) > 0x9F)) return 0;
    return 3;
  }
  if (c >= 0xF0 && c <= 0xF4) {
    if (!tail(i + 1) || !tail(i + 2) || !tail(i + 3)) return 0;
    if ((c == 0xF0 && byte(i + 1) < 0x90) || (c == 0xF4 && byte(i + 1) > 0x8F)) return 0;
    return 4;
  }
  return 0;
}

/// One character as a terminal can show it: control characters and broken UTF-8 become \xNN. Advances i; counts
/// columns.
void append_printable(std::string& out, std::string_view s, std::size_t& i, std::size_t& columns) {
  const auto c = static_cast<unsigned char>(s[i]);
  if (c >= 0x20 && c < 0x7F) {
    out += s[i++];
    columns += 1;
  } else if (const std::size_t n = c < 0x80 ? 0 : utf8_length(s, i); n > 0) {
    out += s.substr(i, n);
    i += n;
    columns += 1;
  } else if (c == '\t') {
    out += ' ';
    ++i, ++columns;
  } else {
    constexpr char hex[] = "0123456789abcdef";
    out += {'\\', 'x', hex[c >> 4], hex[c & 15]};
    ++i;
    columns += 4;
  }
}

/// A field of a message; texts of megabytes are cut.
std::string printable(std::string_view s, bool keep_newlines) {
  constexpr std::size_t longest = 600;
  std::string out;
  std::size_t columns = 0;
  for (std::size_t i = 0; i < s.size();) {
    if (columns >= longest) return out + "...";
    if (s[i] == '\n' && keep_newlines) {
      out += "\n            ";
      ++i, ++columns;
    } else {
      append_printable(out, s, i, columns);
    }
  }
  return out;
}

/// The line that holds `where`, with carets below; long lines are cut around the place.
std::string excerpt(std::string_view text, Span where) {
  const std::size_t begin = std::min(where.begin, text.size()), end = std::clamp(where.end, begin, text.size());
  const std::size_t previous = begin == 0 ? std::string_view::npos : text.rfind('\n', begin - 1);
  std::size_t first = previous == std::string_view::npos ? 0 : previous + 1;
  std::size_t last = std::min(text.find('\n', begin), text.size());
  constexpr std::size_t before = 60, after = 60;
  std::string head, tail;
  if (begin - first > before + 4) {
    first = begin - before;
    while (first < begin && (static_cast<unsigned char>(text[first]) & 0xC0) == 0x80) ++first;
    head = "...";
  }
  const std::size_t stop = std::min(std::max(end, begin + 1), begin + after);
  if (last > stop + after) {
    last = stop + after;
    while (last > stop && (static_cast<unsigned char>(text[last]) & 0xC0) == 0x80) --last;
    tail = "...";
  }
  std::string line = head;
  std::size_t columns = head.size(), caret_begin = columns, caret_end = columns;
  bool open = false, closed = false;
  for (std::size_t i = first; i < last;) {
    if (!open && i >= begin) caret_begin = columns, open = true;
    if (open && !closed && i >= end) caret_end = columns, closed = true;
    append_printable(line, text, i, columns);
  }
  if (!open) caret_begin = columns;
  if (!closed) caret_end = columns;
  const std::size_t width = std::max<std::size_t>(1, caret_end > caret_begin ? caret_end - caret_begin : 1);
  return "\n    " + line + tail + "\n    " + std::string(caret_begin, ' ') + "^" + std::string(width - 1, '~');
}

}  // namespace

std::string to_string(const Problem& problem) {
  std::string out = printable(problem.what, false);
  if (!problem.text.empty()) out += excerpt(problem.text, problem.where);
  if (!problem.expected.empty()) out += "\n  expected  " + printable(problem.expected, true);
  if (!problem.got.empty()) out += "\n  got       " + printable(problem.got, true);
  if (!problem.fix.empty()) out += "\n  fix       " + printable(problem.fix, true);
  return out;
}

}  // namespace strata
