// NumPy's einsum text: "ij,jk->ik", "...ij,...jk", "ii". Source of the rules: numpy.einsum (1.26 to 2.x); white space
// of every kind is skipped.
#include <algorithm>
#include <array>
#include <cctype>
#include <optional>

#include "expr/scanner.h"
#include "strata/expr.h"
#include "strata/format.h"

namespace strata {
namespace {

/// One letter or one ellipsis of the text.
struct Subscript {
  char letter = 0;  ///< 0: an ellipsis
  Span where;
};
struct SubscriptTerm {
  std::vector<Subscript> subscripts;
  Span where;

  std::optional<Span> ellipsis() const {
    for (const auto& s : subscripts)
      if (!s.letter) return s.where;
    return std::nullopt;
  }
  int letters() const {
    return static_cast<int>(
        std::count_if(subscripts.begin(), subscripts.end(), [](const Subscript& s) { return s.letter != 0; }));
  }
};

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

class EinsumParser : private Scanner {
 public:
  EinsumParser(std::string_view text, std::span<const int> ranks) : Scanner(text), ranks_(ranks) {}

  Einsum parse() {
    if (text_.size() > max_expression_text)
      throw ExpressionError({.what = "the einsum text is too long", .expected = "at most 65536 characters"});
    split();
    check_counts();
    std::vector<int> broadcast(terms_.size(), 0);  // dimensions that each term's ellipsis stands for
    for (std::size_t k = 0; k < terms_.size(); ++k) broadcast[k] = check_rank(k);
    const int most = *std::max_element(broadcast.begin(), broadcast.end());

    Einsum e;
    e.conjugate.assign(terms_.size(), 0);
    for (int d = 0; d < most; ++d) e.names.push_back("e" + std::to_string(d));
    for (std::size_t k = 0; k < terms_.size(); ++k) {
      auto& indices = e.operands.emplace_back();
      for (const auto& s : terms_[k].subscripts) {
        if (s.letter) indices.push_back(index_of(e, s.letter));
        else  // an ellipsis lines up on the right with the longest one
          for (int d = most - broadcast[k]; d < most; ++d) indices.push_back(d);
      }
    }
    e.num_indices = static_cast<int>(e.names.size());
    explicit_output_ ? build_output(e, most) : imply_output(e, most);
    return e;
  }

 private:
  void split() {
    terms_.emplace_back();
    terms_.back().where = {0, 0};
    SubscriptTerm* term = &terms_.back();
    const std::size_t n = text_.size();
    for (std::size_t i = 0; i < n;) {
      const char c = text_[i];
      if (is_blank(c)) {
        ++i;
        continue;
      }
      if (is_letter(c)) {
        term->subscripts.push_back({c, {i, i + 1}});
        ++i;
      } else if (c == '.') {
        if (text_.substr(i, 3) != "...")
          refuse("a '.' that is not part of an ellipsis", {i, i + 1}, "'...'", "'.'",
                 "write three dots, without blanks between them");
        if (term->ellipsis()) refuse("a second ellipsis in one term", {i, i + 3}, "at most one '...' per term");
        term->subscripts.push_back({0, {i, i + 3}});
        i += 3;
      } else if (c == ',') {
        if (explicit_output_) refuse("a comma after '->'", {i, i + 1}, "one output term");
        term->where.end = i;
        terms_.emplace_back();
        term = &terms_.back();
        term->where = {i + 1, i + 1};
        ++i;
      } else if (c == '-') {
        if (text_.substr(i, 2) != "->")
          refuse("a '-' that is not part of '->'", {i, i + 1}, "'->'", "'-'", "write '->' without blanks between");
        if (explicit_output_) refuse("a second '->'", {i, i + 2}, "one '->'");
        term->where.end = i;
        explicit_output_ = true;
        term = &output_;
        term->where = {i + 2, i + 2};
        i += 2;
      } else {
        std::size_t stop = i + 1;  // a whole UTF-8 character
        while (stop < n && (static_cast<unsigned char>(text_[stop]) & 0xC0) == 0x80) ++stop;
        refuse("an einsum has no such character", {i, stop}, "letters, ',', '->' and '...'",
               "'" + std::string(text_.substr(i, stop - i)) + "'");
      }
    }
    term->where.end = n;
  }

  void check_counts() const {
    if (ranks_.empty())
      throw ExpressionError({.what = "an einsum without operands", .expected = "at least one operand", .got = "none"});
    if (std::max(terms_.size(), ranks_.size()) > max_operands)
      throw ExpressionError({.what = "an einsum of too many operands",
                             .expected = "at most " + std::to_string(max_operands),
                             .got = std::to_string(std::max(terms_.size(), ranks_.size()))});
    if (terms_.size() == ranks_.size()) return;
    const auto count = [](std::size_t k, const char* thing) {
      return std::to_string(k) + " " + thing + (k == 1 ? "" : "s");
    };
    const Span where = terms_.size() > ranks_.size() ? terms_[ranks_.size()].where : Span{0, terms_.back().where.end};
    refuse("the text and the operands differ in number", where,
           count(terms_.size(), "operand") + ", as the text has terms", count(ranks_.size(), "operand"));
  }

  /// How many dimensions the ellipsis of term k stands for.
  int check_rank(std::size_t k) const {
    const SubscriptTerm& term = terms_[k];
    const int rank = ranks_[k], letters = term.letters();
    if (letters == rank) return 0;
    if (letters < rank && term.ellipsis()) return rank - letters;
    const auto dimensions = [](int n) { return std::to_string(n) + (n == 1 ? " dimension" : " dimensions"); };
    refuse("operand " + std::to_string(k) + " does not fit its term", term.where,
           term.ellipsis() ? "at least " + dimensions(letters) : dimensions(letters), dimensions(rank),
           letters < rank ? "name every dimension, or write '...' for the rest" : "");
  }

  int index_of(Einsum& e, char letter) {
    int& index = index_[static_cast<unsigned char>(letter)];
    if (index < 0) {
      index = static_cast<int>(e.names.size());
      e.names.emplace_back(1, letter);
    }
    return index;
  }

  void build_output(Einsum& e, int most) const {
    std::array<bool, 128> seen{};
    for (const auto& s : output_.subscripts) {
      if (!s.letter) {
        for (int d = 0; d < most; ++d) e.output.push_back(d);
        continue;
      }
      const std::string quoted = "'" + std::string(1, s.letter) + "'";
      const int index = index_[static_cast<unsigned char>(s.letter)];
      if (index < 0) refuse("the output has an index that no operand has", s.where, "an index of the operands", quoted);
      bool& again = seen[static_cast<unsigned char>(s.letter)];
      if (again) refuse("the output has an index twice", s.where, "each index at most once", quoted);
      again = true;
      e.output.push_back(index);
    }
    if (most > 0 && !output_.ellipsis())
      refuse("the output lacks the ellipsis of the operands", output_.where, "'...' in the output",
             std::string(text_.substr(output_.where.begin)),
             "write '...' in the output; dimensions under an ellipsis are never summed");
  }

  /// The ellipsis first, then every letter that occurs once, in alphabetical order (upper case before lower, as NumPy
  /// has it).
  void imply_output(Einsum& e, int most) const {
    for (int d = 0; d < most; ++d) e.output.push_back(d);
    std::array<int, 128> count{};
    for (const auto& t : terms_)
      for (const auto& s : t.subscripts) ++count[static_cast<unsigned char>(s.letter)];
    for (std::size_t c = 1; c < count.size(); ++c)
      if (count[c] == 1) e.output.push_back(index_[c]);
  }

  std::span<const int> ranks_;
  std::vector<SubscriptTerm> terms_;
  SubscriptTerm output_;
  bool explicit_output_ = false;
  std::array<int, 128> index_ = [] {
    std::array<int, 128> a{};
    a.fill(-1);
    return a;
  }();
};

}  // namespace

Einsum parse_einsum(std::string_view text, std::span<const int> ranks) { return EinsumParser(text, ranks).parse(); }

}  // namespace strata
