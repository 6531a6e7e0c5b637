#pragma once
// What the parsers of expressions share: blanks, single tokens, names, and refusals that point into the text.
#include <algorithm>
#include <string>
#include <string_view>

#include "strata/error.h"
#include "strata/format.h"

namespace strata {

inline constexpr std::size_t max_expression_text = 1 << 16;

inline bool is_blank(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }
inline bool is_digit(char c) { return c >= '0' && c <= '9'; }
inline bool is_word(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || is_digit(c) || c == '_'; }

struct Word {
  std::string text;
  Span where;
};

class Scanner {
 protected:
  explicit Scanner(std::string_view text) : text_(text) {}

  [[noreturn]] void refuse(std::string what, Span where, std::string expected = {}, std::string got = {},
                           std::string fix = {}) const {
    throw ExpressionError({.what = std::move(what),
                           .expected = std::move(expected),
                           .got = std::move(got),
                           .fix = std::move(fix),
                           .text = std::string(text_),
                           .where = where});
  }

  /// The next character that is no blank, which comes to stand at at_; 0 at the end.
  char peek() {
    while (at_ < text_.size() && is_blank(text_[at_])) ++at_;
    return at_ < text_.size() ? text_[at_] : '\0';
  }
  bool take(std::string_view token) {
    peek();
    if (text_.substr(at_, token.size()) != token) return false;
    at_ += token.size();
    return true;
  }
  bool take(char c) { return take(std::string_view(&c, 1)); }
  std::string here() { return peek() != 0 ? "'" + std::string(1, text_[at_]) + "'" : "the end of the text"; }
  void expect(char c, const std::string& quoted) {
    if (take(c)) return;
    const std::string got = here();
    refuse("something is missing", {at_, std::min(at_ + 1, text_.size())}, quoted, got);
  }
  Word word(const char* what) {
    peek();
    const std::size_t begin = at_;
    while (at_ < text_.size() && is_word(text_[at_])) ++at_;
    const Span where{begin, at_};
    if (begin == at_) {
      const std::string got = here();
      refuse(std::string(what) + " is missing", {begin, std::min(begin + 1, text_.size())},
             "a word of letters, digits and '_'", got);
    }
    if (is_digit(text_[begin]))
      refuse("a name starts with a digit", where, "a letter or '_' first",
             std::string(text_.substr(begin, at_ - begin)));
    if (at_ - begin > max_name)
      refuse("a name is too long", where, "at most 64 characters", std::to_string(at_ - begin) + " characters");
    return {std::string(text_.substr(begin, at_ - begin)), where};
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

}  // namespace strata
