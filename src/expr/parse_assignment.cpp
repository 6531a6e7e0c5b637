// Index notation of whole expressions: "y(i) = b(i) - A(i,j) * x(j)".
//
//   assignment = access ("=" | "+=") comparison
//   comparison = additive [ ("==" | "!=" | "<" | "<=" | ">" | ">=") additive ]
//   additive   = term { ("+" | "-") term }
//   term       = factor { ("*" | "/" | "//" | "%") factor }
//   factor     = ("-" | "+") factor | number | "(" comparison ")" | access | function "(" ... ")"
//   number     = digits, with a point, an exponent, a "j" behind | "inf" | "nan" | "infj" | "nanj" | "True" | "False"
//   access     = name [ "(" affine [ "?" ] { "," affine [ "?" ] } ")" ]
#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <optional>

#include "base/suggest.h"
#include "expr/depth.h"
#include "expr/scanner.h"
#include "strata/expression.h"

namespace strata {
namespace {

constexpr int max_depth = 100;        // of parentheses and signs: recursion
constexpr int max_operations = 1000;  // chains lean to the left, so this bounds the depth of the tree

std::optional<Operator> function_of(const std::string& name) {
  for (int k = static_cast<int>(Operator::absolute); k <= static_cast<int>(Operator::conjugate); ++k)
    if (name == name_of(static_cast<Operator>(k))) return static_cast<Operator>(k);
  return std::nullopt;
}
std::optional<Operator> reduction_of(const std::string& name) {
  for (int k = static_cast<int>(Operator::sum); k <= static_cast<int>(Operator::all); ++k)
    if (name == name_of(static_cast<Operator>(k))) return static_cast<Operator>(k);
  return std::nullopt;
}

class AssignmentParser : private Scanner {
 public:
  explicit AssignmentParser(std::string_view text) : Scanner(text) {}

  Expression whole() {
    check_length();
    const Expression value = comparison();
    if (const char c = peek(); c != 0) {
      std::string fix;
      if (c == '@') fix = "write the indices, y(i) = A(i,j) * x(j), or call matmul";
      refuse("the expression does not end here", {at_, at_ + 1}, "an operator or the end", here(), fix);
    }
    if (value.operands().size() > 64) refuse("too many operands", {0, text_.size()}, "at most 64");
    return value;
  }

  Assignment parse() {
    check_length();
    Assignment out;
    out.text = std::string(text_);
    const Word name = word("the name of the result");
    out.name = name.text;
    refuse_brackets(name);
    if (take('(') && !take(')')) {
      do {
        const Word index = word("an index");
        if (std::find(out.indices.begin(), out.indices.end(), index.text) != out.indices.end())
          refuse("the output has an index twice", index.where, "each index at most once", "'" + index.text + "'");
        out.indices.push_back(index.text);
        if (peek() == '?')
          refuse("a result is not padded", {at_, at_ + 1}, "',' or ')'", "'?'",
                 "write '?' behind an index of an operand: it reads the fill where that leaves the operand");
        if (out.indices.size() > max_dims) refuse("too many dimensions", index.where, "at most 32");
      } while (take(','));
      expect(')', "',' or ')'");
    }
    if (peek() == '+' && at_ + 1 < text_.size() && text_[at_ + 1] == '=') {
      out.accumulate = true;
      at_ += 2;
    } else {
      if (const char c = peek(); c != '=' && c != 0) {
        const std::string got = here();
        refuse("no result is assigned", {at_, at_ + 1}, "'=' or '+='", got,
               text_.find("->") == std::string_view::npos ? "name the result first: y(i) = ..."
                                                          : "give it to einsum, which takes this form");
      }
      expect('=', "'=' or '+='");
    }
    const Expression value = whole();
    out.value = with_sums(value, out.indices, text_);
    const auto names = value.operands();
    if (!out.accumulate && std::find(names.begin(), names.end(), out.name) != names.end())
      refuse("'" + out.name + "' is both the result and an operand", name.where, "another name for the result",
             "'" + out.name + "'", "write '+=' to add to what it holds");
    return out;
  }

 private:
  void refuse_brackets(const Word& name) {
    if (peek() == '[')
      refuse("indices stand in parentheses", {at_, at_ + 1}, "'('", "'['",
             "write " + name.text + "(i) for " + name.text + "[i]");
  }
  void check_length() const {
    if (text_.size() > max_expression_text)
      throw ExpressionError({.what = "the expression is too long", .expected = "at most 65536 characters"});
  }
  Expression located(Expression e, std::size_t begin) const {
    Expression::Node n = e.node();
    n.where = {begin, at_};
    return Expression(std::move(n));
  }
  Expression binary(Operator op, Expression a, Expression b, std::size_t begin) {
    if (++operations_ > max_operations) refuse("too many operations in one expression", {begin, at_}, "at most 1000");
    return located(Expression::binary(op, std::move(a), std::move(b)), begin);
  }

  Expression comparison() {
    const Nesting nesting{++depth_};
    if (depth_ > max_depth) refuse("parentheses nest too deeply", {at_, at_ + 1}, "at most 100 levels");
    peek();
    const std::size_t begin = at_;
    const Expression left = additive();
    static constexpr std::array<std::pair<std::string_view, Operator>, 6> comparisons = {
        {{"==", Operator::equal},
         {"!=", Operator::not_equal},
         {"<=", Operator::less_equal},
         {">=", Operator::greater_equal},
         {"<", Operator::less},
         {">", Operator::greater}}};
    for (const auto& [token, op] : comparisons)
      if (take(token)) {
        const Expression right = additive();
        const Expression out = binary(op, left, right, begin);
        peek();
        for (const auto& again : comparisons)
          if (text_.substr(at_, again.first.size()) == again.first)
            refuse("comparisons do not chain", {at_, at_ + again.first.size()}, "one comparison", "a second one",
                   "put one of them in parentheses");
        return out;
      }
    return left;
  }
  Expression additive() {
    peek();
    const std::size_t begin = at_;
    Expression out = term();
    for (;;) {
      const bool plus = take('+');
      if (!plus && !take('-')) return out;
      Expression right = term();
      out = binary(plus ? Operator::add : Operator::subtract, std::move(out), std::move(right), begin);
    }
  }
  Expression term() {
    peek();
    const std::size_t begin = at_;
    Expression out = factor();
    for (;;) {
      Operator op;
      if (take("**"))
        refuse("there is no '**'", {at_ - 2, at_}, "'*', '/', '//' or '%'", "'**'", "write the product out");
      else if (take('*')) op = Operator::multiply;
      else if (take("//")) op = Operator::floor_divide;
      else if (take('/')) op = Operator::divide;
      else if (take('%')) op = Operator::modulo;
      else return out;
      Expression right = factor();
      out = binary(op, std::move(out), std::move(right), begin);
    }
  }
  Expression factor() {
    const char c = peek();
    const std::size_t begin = at_;
    if (c == '-' || c == '+') {
      const Nesting nesting{++depth_};
      if (depth_ > max_depth) refuse("signs nest too deeply", {at_, at_ + 1}, "at most 100 levels");
      ++at_;
      Expression a = factor();
      if (c == '+') return a;
      if (a.op() == Operator::constant && !is_blank(text_[begin + 1]) &&
          text_[begin + 1] != '(') {  // -2 is a number, so that it prints back
        if (auto n = negative(a.node())) {
          n->where = {begin, at_};
          return Expression(std::move(*n));
        }
      }
      return located(Expression::unary(Operator::negate, std::move(a)), begin);
    }
    if (take('(')) {
      Expression e = comparison();
      expect(')', "an operator or ')'");
      return e;
    }
    if (is_digit(c) || c == '.') return number();
    const Word name = word("an operand");
    if (peek() == '(') {
      if (const auto op = function_of(name.text)) {
        take('(');
        Expression a = comparison();
        if (peek() == ',') refuse(name.text + " takes one argument", {at_, at_ + 1}, "')'", "','");
        expect(')', "an operator or ')'");
        return located(Expression::unary(*op, std::move(a)), begin);
      }
      if (const auto op = reduction_of(name.text)) return reduction(name, *op);
    } else if (auto n = named_number(name.text)) {
      return located(Expression(std::move(*n)), begin);
    }
    refuse_brackets(name);
    std::vector<AffineIndex> indices;
    if (take('(') && !take(')')) {
      do {
        indices.push_back(affine());
        indices.back().padded = take('?');
        if (peek() == '(') {
          std::string all;
          for (const auto f : functions()) all += (all.empty() ? "" : ", ") + std::string(f);
          const auto near = closest(name.text, functions());
          refuse("there is no function '" + name.text + "'", name.where, all, name.text,
                 near.empty() ? "" : "write '" + std::string(near) + "'");
        }
        if (indices.size() > max_dims) refuse("too many dimensions", name.where, "at most 32");
      } while (take(','));
      if (peek() != ')' && (function_like(name.text))) {
        const std::string got = here();
        refuse("something is missing", {at_, std::min(at_ + 1, text_.size())}, "',' or ')'", got,
               closest_function(name.text));
      }
      expect(')', "',' or ')'");
    }
    return located(Expression::access(name.text, std::move(indices)), begin);
  }

  static std::vector<std::string_view> functions() {
    std::vector<std::string_view> out;
    for (int k = static_cast<int>(Operator::absolute); k <= static_cast<int>(Operator::all); ++k)
      out.push_back(name_of(static_cast<Operator>(k)));
    return out;
  }
  static bool function_like(const std::string& name) { return !closest(name, functions()).empty(); }
  static std::string closest_function(const std::string& name) {
    return "write '" + std::string(closest(name, functions())) + "' if a function is meant";
  }

  Expression number() {
    const std::size_t begin = at_;
    const auto digits = [&] {
      while (at_ < text_.size() && is_digit(text_[at_])) ++at_;
    };
    bool integer = true;
    digits();
    if (at_ < text_.size() && text_[at_] == '.') {
      integer = false;
      ++at_;
      digits();
    }
    if (at_ < text_.size() && (text_[at_] == 'e' || text_[at_] == 'E')) {
      integer = false;
      ++at_;
      if (at_ < text_.size() && (text_[at_] == '+' || text_[at_] == '-')) ++at_;
      digits();
    }
    const std::string_view digits_text = text_.substr(begin, at_ - begin);
    const char *first = digits_text.data(), *last = first + digits_text.size();
    const auto malformed = [&] {
      refuse("a malformed number", {begin, at_}, "digits, or digits with a point and an exponent",
             std::string(digits_text));
    };
    const bool imaginary = at_ < text_.size() && text_[at_] == 'j';
    if (imaginary) ++at_;
    if (at_ < text_.size() && is_word(text_[at_])) {
      ++at_;
      malformed();
    }
    double value = 0;
    const auto r = std::from_chars(first, last, value);
    if (r.ec != std::errc() || r.ptr != last) malformed();
    if (imaginary) return located(Expression({.value = {0, value}, .number = Number::imaginary}), begin);
    if (!integer) return located(Expression::constant(value), begin);
    std::uint64_t exact = 0;
    const bool fits = std::from_chars(first, last, exact).ec == std::errc();
    return located(Expression({.value = value,
                               .number = !fits               ? Number::huge_integer
                                         : exact > INT64_MAX ? Number::unsigned_integer
                                                             : Number::integer,
                               .integer = static_cast<std::int64_t>(exact)}),
                   begin);
  }
  /// What -2 stands for; nothing where it would print in another way (-0, - -2).
  static std::optional<Expression::Node> negative(Expression::Node n) {
    constexpr std::uint64_t least = std::uint64_t{1} << 63;  // the magnitude of the least int64
    const bool positive =
        is_integer(n.number) ? n.value.real() > 0 : !(std::signbit(n.value.real()) || std::signbit(n.value.imag()));
    if (!positive || n.number == Number::truth) return std::nullopt;
    const auto magnitude = static_cast<std::uint64_t>(n.integer);
    n.value = n.number == Number::imaginary ? -n.value : std::complex<double>(-n.value.real(), 0);
    if (n.number == Number::unsigned_integer) n.number = magnitude == least ? Number::integer : Number::huge_integer;
    n.integer = n.number == Number::huge_integer ? 0 : static_cast<std::int64_t>(0 - magnitude);
    return n;
  }
  static std::optional<Expression::Node> named_number(std::string_view name) {
    if (name == "True" || name == "False")
      return Expression::Node{.value = name == "True" ? 1.0 : 0.0, .number = Number::truth};
    const bool imaginary = name.ends_with('j');
    if (imaginary) name.remove_suffix(1);
    if (name != "inf" && name != "nan") return std::nullopt;
    const double value =
        name == "inf" ? std::numeric_limits<double>::infinity() : std::numeric_limits<double>::quiet_NaN();
    return imaginary ? Expression::Node{.value = {0, value}, .number = Number::imaginary}
                     : Expression::Node{.value = value};
  }

  /// sum(j, k, body), max(j, body), or the two-argument max(a, b) and min(a, b).
  Expression reduction(const Word& name, Operator op) {
    const bool elementwise_too = op == Operator::reduce_max || op == Operator::reduce_min;
    expect('(', "'('");
    std::vector<Word> indices;
    std::vector<std::size_t> starts;
    for (;;) {  // bare words up to the body
      peek();
      const std::size_t start = at_;
      if (at_ < text_.size() && is_word(text_[at_]) && !is_digit(text_[at_])) {
        const Word w = word("an index");
        if (!named_number(w.text) && take(',')) {
          indices.push_back(w);
          starts.push_back(start);
          continue;
        }
      }
      at_ = start;
      break;
    }
    peek();
    const std::size_t body_begin = at_;
    Expression body = comparison();
    if (elementwise_too) {
      const auto free = body.free_indices();
      const bool names_index =
          !indices.empty() && std::find(free.begin(), free.end(), indices.back().text) != free.end();
      if (!names_index && indices.size() <= 1) {
        Expression left = body;
        if (indices.empty()) {
          expect(',', "','");
          body = comparison();
        } else {
          left =
              Expression(Expression::Node{.op = Operator::access, .name = indices[0].text, .where = indices[0].where});
        }
        expect(')', "an operator or ')'");
        return binary(op == Operator::reduce_max ? Operator::maximum : Operator::minimum, left, body, name.where.begin);
      }
    }
    if (indices.empty())
      refuse(name.text + " does not say which index it reduces", {body_begin, at_}, "an index first", body.to_string(),
             "write " + name.text + "(" + (body.free_indices().empty() ? "j" : body.free_indices().back()) + ", " +
                 body.to_string() + ")");
    expect(')', "an operator or ')'");
    for (std::size_t k = indices.size(); k-- > 0;) {
      const auto free = body.free_indices();
      if (std::find(free.begin(), free.end(), indices[k].text) == free.end())
        refuse(name.text + " over an index that its body lacks", indices[k].where,
               free.empty() ? "an index of the body" : "one of the body's indices", "'" + indices[k].text + "'");
      body = located(Expression::reduce(op, indices[k].text, std::move(body)), name.where.begin);
    }
    return body;
  }

  /// Sums of integer * index and integers.
  AffineIndex affine() {
    AffineIndex out;
    bool minus = false;
    peek();
    const std::size_t begin = at_;
    if (take('-')) minus = true;
    for (;;) {
      std::int64_t factor = minus ? -1 : 1;
      std::string index;
      for (;;) {
        const char c = peek();
        if (is_digit(c)) {
          const std::size_t start = at_;
          while (at_ < text_.size() && is_digit(text_[at_])) ++at_;
          std::int64_t value = 0;
          const std::string_view digits = text_.substr(start, at_ - start);
          const auto r = std::from_chars(digits.data(), digits.data() + digits.size(), value);
          if (r.ec != std::errc() || value >= (std::int64_t{1} << 31) ||
              __builtin_mul_overflow(factor, value, &factor) || factor >= (std::int64_t{1} << 31) ||
              factor <= -(std::int64_t{1} << 31))
            refuse("a number that an index cannot use", {start, at_}, "less than 2147483648", std::string(digits));
        } else {
          const Word w = word("an index");
          if (!index.empty())
            refuse("a product of two indices", w.where, "a sum of integer * index", index + "*" + w.text);
          index = w.text;
        }
        if (!take('*')) break;
      }
      if (index.empty()) out.constant += factor;
      else {
        auto t = std::find_if(out.terms.begin(), out.terms.end(), [&](const auto& x) { return x.index == index; });
        if (t == out.terms.end()) out.terms.push_back({index, factor});
        else t->coefficient += factor;
      }
      if (out.terms.size() > max_dims || out.constant >= (std::int64_t{1} << 40) ||
          out.constant <= -(std::int64_t{1} << 40))
        refuse("an index too long", {begin, at_}, "a short sum");
      if (take('+')) minus = false;
      else if (take('-')) minus = true;
      else break;
    }
    std::erase_if(out.terms, [](const auto& t) { return t.coefficient == 0; });
    return out;
  }

  /// One level deeper, until it goes.
  struct Nesting {
    int& depth;
    ~Nesting() { --depth; }
  };

  int depth_ = 0, operations_ = 0;
};

/// Some 1.4 KB for a level of parentheses and 0.5 KB for an operation are in use, which take several characters each.
std::size_t stack_to_parse(std::string_view text) {
  constexpr std::size_t kb = 1024;
  return 64 * kb + std::min(text.size() * kb, 2048 * kb);
}

}  // namespace

Assignment parse_assignment(std::string_view text) {
  // Loops evaluate the same few texts over and over.
  thread_local std::array<Assignment, 8> recent;
  thread_local std::size_t next = 0;
  for (const Assignment& a : recent)
    if (!a.text.empty() && a.text == text) return a;
  return recent[next++ % recent.size()] =
             on_a_large_stack(stack_to_parse(text), [&] { return AssignmentParser(text).parse(); });
}
Expression parse_expression(std::string_view text) {
  return on_a_large_stack(stack_to_parse(text), [&] { return AssignmentParser(text).whole(); });
}

}  // namespace strata
