#pragma once
// The part of JSON that headers of our files are written in, read key by key as the caller expects it: objects, arrays,
// strings and integers. What nobody asked for is refused where it stands, so that nothing nests deeper and nothing
// takes more memory than what is looked for.
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "io/file_text.h"

namespace strata::io {

class JsonReader {
 public:
  explicit JsonReader(const FileText& source) : source_(source), p_(source.begin()) {}

  /// Calls member(key) for each member; it must read the value. A key that comes twice is refused.
  void object(const std::function<void(const std::string&)>& member);
  /// Calls item() for each item; it must read the item.
  void array(const std::function<void()>& item);
  std::string string();
  /// From `least` to 2^63 - 1.
  std::int64_t integer(std::int64_t least);
  /// Nothing but blanks follows.
  void end();

  /// Where the value begins that was read last, or the key of a member: for errors about what it says.
  const char* last() const { return last_; }
  /// Refuses the value that begins at `at`.
  [[noreturn]] void fail(const char* at, Problem problem) const;
  [[noreturn]] void unknown_key(const std::string& key, const std::string& expected) const;

 private:
  void blanks();
  void expect(char c, const char* expected);

  const FileText& source_;
  const char* p_;
  const char* last_ = nullptr;
};

bool is_utf8(std::string_view text);
/// A text (UTF-8) as a string of JSON, quotes included.
std::string to_json(std::string_view text);

}  // namespace strata::io
