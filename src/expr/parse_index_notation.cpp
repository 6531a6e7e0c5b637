// Index notation of one product: "C(i,k) = A(i,j) * conj(B(j,k))". Names without parentheses are scalars.
#include <algorithm>

#include "expr/scanner.h"
#include "strata/expr.h"
#include "strata/format.h"

namespace strata {
namespace {

struct ParsedAccess {
  Word name;
  std::vector<Word> indices;
};

class IndexNotationParser : private Scanner {
 public:
  explicit IndexNotationParser(std::string_view text) : Scanner(text) {}

  Einsum parse(std::vector<std::string>& operand_names) {
    if (text_.size() > max_expression_text)
      throw ExpressionError({.what = "the expression is too long", .expected = "at most 65536 characters"});
    const ParsedAccess output = access();
    if (peek() == '+' && at_ + 1 < text_.size() && text_[at_ + 1] == '=')
      refuse("'+=' has no place here", {at_, at_ + 2}, "'='", "'+='",
             "write '=' and run with beta 1 to add to what the output holds");
    expect('=', "'='");
    Einsum e;
    operand_names.clear();
    do {
      peek();
      const bool conjugate = text_.substr(at_, 4) == "conj" && opens_call(at_ + 4);
      if (conjugate) {
        at_ += 4;
        expect('(', "'('");
      }
      const ParsedAccess a = access();
      if (conjugate) expect(')', "')'");
      if (e.operands.size() == 64) refuse("too many factors", a.name.where, "at most 64");
      operand_names.push_back(a.name.text);
      e.conjugate.push_back(conjugate ? 1 : 0);
      auto& indices = e.operands.emplace_back();
      for (const auto& w : a.indices) indices.push_back(index_of(e, w.text, true));
    } while (take('*'));
    if (at_ < text_.size()) {
      const char c = text_[at_];
      const Span here{at_, at_ + 1};
      if (c == '+' || c == '-')
        throw Unsupported({.what = "a plan is of one product",
                           .expected = "factors joined by '*'",
                           .got = std::string("'") + c + "'",
                           .fix = "evaluate() takes any expression",
                           .text = std::string(text_),
                           .where = here});
      refuse("the expression does not end here", here, "'*' or the end", "'" + std::string(1, c) + "'");
    }
    e.num_indices = static_cast<int>(e.names.size());
    for (const auto& w : output.indices) {
      const int index = index_of(e, w.text, false);
      if (index < 0)
        refuse("the output has an index that no operand has", w.where, "an index of the operands", "'" + w.text + "'");
      if (std::find(e.output.begin(), e.output.end(), index) != e.output.end())
        refuse("the output has an index twice", w.where, "each index at most once", "'" + w.text + "'");
      e.output.push_back(index);
    }
    return e;
  }

 private:
  bool opens_call(std::size_t i) const {
    while (i < text_.size() && is_blank(text_[i])) ++i;
    return i < text_.size() && text_[i] == '(';
  }

  ParsedAccess access() {
    ParsedAccess a{word("a tensor's name"), {}};
    if (!take('(')) return a;
    if (take(')')) return a;
    do {
      a.indices.push_back(word("an index"));
      if (const char c = peek(); c == '+' || c == '-' || c == '?')
        throw Unsupported({.what = "a plan takes no sums of indices, and no padding",
                           .expected = "',' or ')'",
                           .got = std::string("'") + c + "'",
                           .fix = "evaluate() takes any expression; for a plan pad and slice the operand first",
                           .text = std::string(text_),
                           .where = {at_, at_ + 1}});
      if (a.indices.size() > max_dims) refuse("too many dimensions", a.indices.back().where, "at most 32");
    } while (take(','));
    expect(')', "',' or ')'");
    return a;
  }

  static int index_of(Einsum& e, const std::string& name, bool add) {
    const auto it = std::find(e.names.begin(), e.names.end(), name);
    if (it != e.names.end()) return static_cast<int>(it - e.names.begin());
    if (!add) return -1;
    e.names.push_back(name);
    return static_cast<int>(e.names.size()) - 1;
  }
};

}  // namespace

Einsum parse_index_notation(std::string_view text, std::vector<std::string>& operand_names) {
  return IndexNotationParser(text).parse(operand_names);
}

}  // namespace strata
