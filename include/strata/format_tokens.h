#pragma once
// A format text as words, numbers, arrows and symbols.
#include "strata/format_fault.h"

namespace strata::detail {

struct FormatToken {
  enum Kind : std::uint8_t { end, word, number, arrow, symbol } kind = end;
  char symbol_char = 0;  ///< symbol: the character ("//" reads as '/'); 0 for anything that has no place in a format
  bool overflow = false;
  std::int64_t value = 0;
  FormatSpan span{};
};

/// Reads one token ahead.
class FormatTokens {
 protected:
  constexpr explicit FormatTokens(std::string_view text) : text_(text) {}

  /// Names are ASCII; other letters are read with them, so that a look-alike is shown inside its word.
  static constexpr bool is_letter(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || static_cast<unsigned char>(c) >= 0x80;
  }
  static constexpr bool is_ascii(std::string_view word) {
    for (const char c : word)
      if (static_cast<unsigned char>(c) >= 0x80) return false;
    return true;
  }
  static constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }
  constexpr std::string_view view(FormatSpan s) const { return text_.substr(s.begin, s.end - s.begin); }

  constexpr void next() {
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (c == '#')
        while (at_ < text_.size() && text_[at_] != '\n') ++at_;
      else if (c == ' ' || c == '\t' || c == '\n' || c == '\r') ++at_;
      else break;
    }
    FormatToken t{};
    t.span = {at_, at_};
    if (at_ < text_.size()) {
      const char c = text_[at_++];
      if (is_letter(c)) {
        t.kind = FormatToken::word;
        while (at_ < text_.size() && (is_letter(text_[at_]) || is_digit(text_[at_]))) ++at_;
      } else if (is_digit(c)) {
        t.kind = FormatToken::number;
        --at_;
        for (; at_ < text_.size() && is_digit(text_[at_]); ++at_) {
          const int digit = text_[at_] - '0';
          if (t.value > (INT64_MAX - digit) / 10) t.overflow = true;
          if (!t.overflow) t.value = t.value * 10 + digit;
        }
      } else if (c == '-' && at_ < text_.size() && text_[at_] == '>') {
        t.kind = FormatToken::arrow;
        ++at_;
      } else {
        t.kind = FormatToken::symbol;
        if (std::string_view("()[]{}<>,:./%+-=").find(c) != std::string_view::npos) t.symbol_char = c;
        if (c == '/' && at_ < text_.size() && text_[at_] == '/') ++at_;
      }
      t.span.end = at_;
    }
    token_ = t;
  }

  constexpr bool is(char c) const { return token_.kind == FormatToken::symbol && token_.symbol_char == c; }
  constexpr bool accept(char c) {
    if (!is(c)) return false;
    next();
    return true;
  }

  std::string_view text_;
  std::size_t at_ = 0;
  FormatToken token_{};
};

}  // namespace strata::detail
