#include "io/json_reader.h"

#include <algorithm>
#include <charconv>

#include "backend/steps.h"

namespace strata::io {
namespace {

/// Bytes of the well-formed UTF-8 sequence at p; 0 where there is none (RFC 3629: neither overlong nor a surrogate).
int utf8_length(const char* p, const char* end) {
  const auto byte = [&](int k) { return k < end - p ? static_cast<unsigned char>(p[k]) : 0u; };
  const auto follows = [&](int k) { return byte(k) >= 0x80 && byte(k) < 0xC0; };
  const unsigned first = byte(0);
  if (first < 0x80) return 1;
  if (first >= 0xC2 && first < 0xE0) return follows(1) ? 2 : 0;
  if (first >= 0xE0 && first < 0xF0) {
    const unsigned low = first == 0xE0 ? 0xA0 : 0x80, high = first == 0xED ? 0xA0 : 0xC0;
    return byte(1) >= low && byte(1) < high && follows(2) ? 3 : 0;
  }
  if (first >= 0xF0 && first < 0xF5) {
    const unsigned low = first == 0xF0 ? 0x90 : 0x80, high = first == 0xF4 ? 0x90 : 0xC0;
    return byte(1) >= low && byte(1) < high && follows(2) && follows(3) ? 4 : 0;
  }
  return 0;
}

}  // namespace

void JsonReader::fail(const char* at, Problem problem) const {
  const char* q = std::min(at, source_.end());
  std::size_t length = 1;
  if (q != source_.end() && *q == '"')
    length = static_cast<std::size_t>(std::find(q + 1, std::min(source_.end(), q + 40), '"') - q + 1);
  source_.fail(q, std::min(length, static_cast<std::size_t>(source_.end() - q)), std::move(problem));
}

void JsonReader::unknown_key(const std::string& key, const std::string& expected) const {
  fail(last_, {.what = "no key '" + clipped(key) + "' stands here", .expected = expected, .got = clipped(key)});
}

void JsonReader::blanks() {
  while (p_ != source_.end() && (*p_ == ' ' || *p_ == '\n' || *p_ == '\r' || *p_ == '\t')) ++p_;
}

void JsonReader::expect(char c, const char* expected) {
  blanks();
  last_ = p_;
  if (p_ != source_.end() && *p_ == c) {
    ++p_;
    return;
  }
  fail(p_, {.what = p_ == source_.end() ? "the header ends too early" : "another thing stands here",
            .expected = expected,
            .got = p_ == source_.end() ? "its end" : clipped(std::string_view(p_, 1))});
}

void JsonReader::object(const std::function<void(const std::string&)>& member) {
  expect('{', "an object: {");
  blanks();
  if (p_ != source_.end() && *p_ == '}') {
    ++p_;
    return;
  }
  std::vector<std::string> seen;  // few: an unknown key is refused at once
  for (;;) {
    const std::string key = string();
    if (std::find(seen.begin(), seen.end(), key) != seen.end())
      fail(last_, {.what = "the key '" + clipped(key) + "' comes twice", .expected = "each key once"});
    seen.push_back(key);
    const char* const at = last_;
    expect(':', "a colon");
    last_ = at;
    member(key);
    blanks();
    if (p_ != source_.end() && *p_ == ',') {
      ++p_;
      continue;
    }
    expect('}', "a comma, or the end of the object: }");
    return;
  }
}

void JsonReader::array(const std::function<void()>& item) {
  expect('[', "an array: [");
  blanks();
  if (p_ != source_.end() && *p_ == ']') {
    ++p_;
    return;
  }
  for (;;) {
    item();
    blanks();
    if (p_ != source_.end() && *p_ == ',') {
      ++p_;
      continue;
    }
    expect(']', "a comma, or the end of the array: ]");
    return;
  }
}

std::string JsonReader::string() {
  expect('"', "a string: \"");
  const char* const begin = last_;
  std::string out;
  for (;;) {
    if (p_ == source_.end()) fail(begin, {.what = "a string without an end", .expected = "\""});
    const char c = *p_;
    if (c == '"') break;
    if (static_cast<unsigned char>(c) < 0x20)
      fail(p_, {.what = "a control character in a string", .expected = "\\u00" + std::string("..")});
    if (c != '\\') {
      const int n = utf8_length(p_, source_.end());
      if (n == 0) fail(p_, {.what = "bytes that are no UTF-8 text", .expected = "UTF-8"});
      out.append(p_, static_cast<std::size_t>(n));
      p_ += n;
      continue;
    }
    // Of the escapes those that to_json writes.
    const std::string_view rest(p_, static_cast<std::size_t>(source_.end() - p_));
    unsigned code = 0;
    if (rest.size() > 1 && (rest[1] == '"' || rest[1] == '\\')) {
      out += rest[1];
      p_ += 2;
    } else if (rest.size() > 5 && rest.substr(1, 3) == "u00" &&
               std::from_chars(p_ + 4, p_ + 6, code, 16).ptr == p_ + 6 && code < 0x20) {
      out += static_cast<char>(code);
      p_ += 6;
    } else {
      fail(p_, {.what = "an escape that is not written here", .expected = "\\\", \\\\, or \\u0000 to \\u001f"});
    }
  }
  ++p_;
  last_ = begin;
  return out;
}

std::int64_t JsonReader::integer(std::int64_t least) {
  blanks();
  last_ = p_;
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(p_, source_.end(), value);
  const bool ends = end == source_.end() || *end == ',' || *end == '}' || *end == ']' || is_blank(*end) || *end == '\n';
  const bool plain = end != p_ && (*p_ != '0' || end == p_ + 1) && !(*p_ == '-' && p_[1] == '0');  // 07 and -0 are not
  if (error != std::errc() || !ends || !plain || value < least) {
    const char* word_end = p_;
    while (word_end != source_.end() && *word_end != ',' && *word_end != '}' && *word_end != ']' && *word_end != '\n' &&
           word_end - p_ < 64)
      ++word_end;
    fail(p_, {.what = error == std::errc::result_out_of_range ? "a number beyond 63 bits" : "another thing stands here",
              .expected = "an integer from " + std::to_string(least) + " to 9223372036854775807",
              .got = std::string(p_, word_end)});
  }
  p_ = end;
  return value;
}

void JsonReader::end() {
  blanks();
  if (p_ != source_.end()) fail(p_, {.what = "more than one value", .expected = "blanks up to the end of the header"});
}

bool is_utf8(std::string_view text) {
  const char* const end = text.data() + text.size();
  for (const char* p = text.data(); p != end;) {
    const int n = utf8_length(p, end);
    if (n == 0) return false;
    p += n;
  }
  return true;
}

std::string to_json(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      constexpr char digits[] = "0123456789abcdef";
      out += "\\u00";
      out += digits[c >> 4];
      out += digits[c & 15];
    } else {
      out += c;
    }
  }
  return out + '"';
}

}  // namespace strata::io
