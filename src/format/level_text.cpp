#include "format/level_text.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "strata/error.h"

namespace strata::levels {
namespace {

constexpr std::array<std::string_view, 9> words = {"parent", "first", "p",       "previous", "lo",
                                                   "size",   "n",     "parents", "positions"};
constexpr int deepest = 64, most_nodes = 256;

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

}  // namespace

/// sum = term { (+ | -) term }; term = factor { (* | / | %) factor }
class LevelTextParser {
 public:
  LevelTextParser(std::string_view text, std::span<const LevelWord> allowed, bool arrays, LevelText& out)
      : text_(text), allowed_(allowed), arrays_(arrays), out_(out) {}

  int parse() {
    const int root = sum(0);
    blanks();
    if (at_ < text_.size()) fail(at_, 1, "unexpected '" + std::string(text_.substr(at_, 1)) + "'", "an operator");
    return root;
  }

 private:
  using Operation = LevelText::Operation;

  [[noreturn]] void fail(std::size_t at, std::size_t length, const std::string& what, const std::string& expected) {
    throw FormatError({.what = what,
                       .expected = expected,
                       .got = at < text_.size() ? "'" + std::string(text_.substr(at, length)) + "'" : "the end",
                       .text = std::string(text_),
                       .where = {at, std::min(at + length, text_.size())}});
  }
  void blanks() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t' || text_[at_] == '\n')) ++at_;
  }
  bool accept(char c) {
    blanks();
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  void take(char c) {
    if (!accept(c)) fail(at_, 1, "'" + std::string(1, c) + "' is missing", "'" + std::string(1, c) + "'");
  }
  int node(LevelText::SyntaxNode n) {
    if (out_.nodes_.size() == most_nodes) fail(0, text_.size(), "the text is too long", "at most 256 operations");
    out_.nodes_.push_back(n);
    return static_cast<int>(out_.nodes_.size()) - 1;
  }
  int node(Operation op, int a, int b) { return node({.op = op, .a = a, .b = b}); }

  int sum(int depth) {
    if (depth > deepest) fail(at_, 1, "the text is nested too deeply", "at most 64 parentheses inside each other");
    int a = term(depth);
    for (;;) {
      if (accept('+')) a = node(Operation::add, a, term(depth));
      else if (accept('-')) a = node(Operation::sub, a, term(depth));
      else return a;
    }
  }

  int term(int depth) {
    int a = factor(depth);
    for (;;) {
      if (accept('*')) {
        a = node(Operation::mul, a, factor(depth));
        continue;
      }
      const bool div = accept('/');
      if (!div && !accept('%')) return a;
      if (div) accept('/');
      const std::size_t begin = (blanks(), at_);
      const int by = factor(depth);
      const LevelText::SyntaxNode d = out_.nodes_[static_cast<std::size_t>(by)];
      const bool n = d.op == Operation::word && d.word == LevelWord::n;
      if (!n && (d.op != Operation::number || d.number < 1))
        fail(begin, std::max<std::size_t>(1, at_ - begin), "a divisor must be known when code is generated",
             "a number from 1 on, or n");
      a = node({.op = div ? Operation::div : Operation::mod, .a = a, .b = n ? by : -1, .number = d.number});
    }
  }

  int factor(int depth) {
    blanks();
    const std::size_t begin = at_;
    if (accept('(')) {
      const int a = sum(depth + 1);
      take(')');
      return a;
    }
    if (accept('-')) {
      if (depth > deepest) fail(begin, 1, "the text is nested too deeply", "at most 64 signs inside each other");
      return node(Operation::sub, node({.op = Operation::number}), factor(depth + 1));
    }
    if (at_ < text_.size() && is_digit(text_[at_])) {
      std::int64_t value = 0;
      const auto r = std::from_chars(text_.data() + at_, text_.data() + text_.size(), value);
      at_ = static_cast<std::size_t>(r.ptr - text_.data());
      if (r.ec != std::errc()) fail(begin, at_ - begin, "a number is too large", "a number that fits 64 bits");
      return node({.op = Operation::number, .number = value});
    }
    while (at_ < text_.size() && (is_letter(text_[at_]) || (at_ > begin && is_digit(text_[at_])))) ++at_;
    const std::string_view word = text_.substr(begin, at_ - begin);
    if (word.empty()) fail(begin, 1, "an operand is missing", expected_words());
    if (word == "min" || word == "max") {
      take('(');
      const int a = sum(depth + 1);
      take(',');
      const int b = sum(depth + 1);
      take(')');
      return node(word == "min" ? Operation::min : Operation::max, a, b);
    }
    if (word == "crd" && arrays_) {
      take('[');
      const int a = sum(depth + 1);
      take(']');
      return node(Operation::crd, a, -1);
    }
    const auto found = std::ranges::find(words, word);
    const auto which = static_cast<LevelWord>(found - words.begin());
    if (found == words.end() || std::ranges::find(allowed_, which) == allowed_.end())
      fail(begin, word.size(), "'" + std::string(word) + "' has no meaning here", expected_words());
    return node({.op = Operation::word, .word = which});
  }

  std::string expected_words() const {
    std::string out = "a number, min, max";
    for (const LevelWord w : allowed_) out += ", " + std::string(words[static_cast<std::size_t>(w)]);
    return arrays_ ? out + ", crd[...]" : out;
  }

  std::string_view text_;
  std::span<const LevelWord> allowed_;
  bool arrays_;
  LevelText& out_;
  std::size_t at_ = 0;
};

LevelText::LevelText(std::string_view text, std::span<const LevelWord> allowed, bool arrays) {
  root_ = LevelTextParser(text, allowed, arrays, *this).parse();
}

bool LevelText::uses(LevelWord word) const {
  return std::ranges::any_of(nodes_, [&](const SyntaxNode& n) { return n.op == Operation::word && n.word == word; });
}

bool LevelText::uses_crd() const {
  return std::ranges::any_of(nodes_, [](const SyntaxNode& n) { return n.op == Operation::crd; });
}

}  // namespace strata::levels
