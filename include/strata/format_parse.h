#pragma once
// The parser of format texts: constexpr, so that one text means the same at run time and at compile time. It never
// throws: it leaves a FormatFault, which parse_format turns into a FormatError and StaticFormat into a compiler's
// message.
#include "strata/format_check.h"
#include "strata/format_names.h"
#include "strata/format_tokens.h"

namespace strata::detail {

/// What users registered, by name (at compile time there is nothing).
struct FormatLookup {
  bool (*format)(std::string_view name, FormatSpec& found) = nullptr;
  FoundLevel (*level)(std::string_view name) = nullptr;
};

class FormatParser : private FormatTokens {
 public:
  FormatSpec spec{};
  FormatFault fault{};
  std::array<std::string_view, max_dims> names{};  ///< of the part being read, for suggestions
  int num_names = 0;

  constexpr FormatParser(std::string_view text, int rank, FormatLookup lookup)
      : FormatTokens(text), rank_(rank), lookup_(lookup) {}

  /// The whole text; false leaves `fault`.
  constexpr bool parse() {
    next();
    if (token_.kind == FormatToken::end)
      return fail(token_.span, "the format is empty", "'(dims) -> (levels)' or a name such as CSR");
    // The blog prints TensorFormat( ... ) around a format.
    const bool wrapped = token_.kind == FormatToken::word && view(token_.span) == "TensorFormat";
    if (wrapped) {
      next();
      if (!take('(', "'('")) return false;
    }
    do {
      if (spec.num_parts == max_parts) return fail(token_.span, "a sum has at most 8 parts", "");
      if (!(is('(') || is('[') ? read_part() : read_name())) return false;
    } while (accept('+'));
    if (wrapped && !take(')', "')'")) return false;
    return token_.kind == FormatToken::end || unexpected("'+' and another part, or the end");
  }

 private:
  int rank_;
  FormatLookup lookup_;
  std::array<FormatSpan, max_dims> dim_spans_{};
  std::array<FormatSpan, max_levels> level_spans_{};
  std::array<std::uint8_t, max_nodes> depth_{};

  // ------------------------------------------------------------------------------------------------------ faults
  constexpr bool take(char c, const char* expected) { return accept(c) || unexpected(expected); }

  constexpr bool fail(FormatSpan where, const char* what, const char* expected, const char* fix = "",
                      FormatFault::Hint hint = FormatFault::none, int node = -1) {
    fault = {.what = what, .expected = expected, .fix = fix, .where = where, .hint = hint, .node = node};
    return false;
  }
  constexpr bool unexpected(const char* expected, const char* fix = "") {
    if (token_.kind == FormatToken::end) return fail(token_.span, "the format ends too early", expected);
    return fail(token_.span, "unexpected '%'", expected, fix);
  }
  /// A fault of check_part names a level or a dimension; its place in the text is known here.
  constexpr bool fail_at(FormatFault f, FormatSpan whole) {
    f.where = f.level >= 0 ? level_spans_[static_cast<std::size_t>(f.level)]
              : f.dim >= 0 ? dim_spans_[static_cast<std::size_t>(f.dim)]
                           : whole;
    fault = f;
    return false;
  }

  // ------------------------------------------------------------------------------------------------------ parts
  constexpr bool read_part() {
    const std::size_t begin = token_.span.begin;
    num_names = 0;
    const char close_dims = is('(') ? ')' : ']';
    next();
    if (!is(close_dims)) do {
        if (!read_dim()) return false;
      } while (accept(','));
    if (!take(close_dims, close_dims == ')' ? "',' or ')'" : "',' or ']'")) return false;
    if (token_.kind != FormatToken::arrow) return unexpected("'->' and the levels", is('=') ? "write '->'" : "");
    next();
    if (!is('(') && !is('{')) return unexpected("'(' and the levels");
    const char close = is('(') ? ')' : '}';
    next();
    if (spec.num_parts > 0 && num_names != spec.num_dims)
      return fail({begin, token_.span.begin}, "the parts of a sum have different numbers of dimensions",
                  "as many dimensions as the first part has");
    spec.num_dims = num_names;
    if (spec.num_parts == 0)
      for (int d = 0; d < num_names; ++d)
        put_name(spec.dims[static_cast<std::size_t>(d)], names[static_cast<std::size_t>(d)]);
    auto& part = spec.parts[static_cast<std::size_t>(spec.num_parts)];
    part.first_level = static_cast<std::int16_t>(spec.num_levels);
    const int first_expr = spec.num_exprs;
    if (!is(close)) do {
        if (!read_level()) return false;
        ++part.num_levels;
      } while (accept(','));
    const std::size_t end = token_.span.end;
    if (!take(close, close == ')' ? "',' or ')'" : "',' or '}'")) return false;
    ++spec.num_parts;
    if (const FormatFault f = check_part(spec, spec.num_parts - 1, first_expr); f.what) return fail_at(f, {begin, end});
    return true;
  }

  constexpr bool read_dim() {
    if (token_.kind != FormatToken::word) return unexpected("the name of a dimension");
    const auto word = view(token_.span);
    if (word.size() > max_name)
      return fail(token_.span, "the name of a dimension is too long", "at most 64 characters");
    if (!is_ascii(word))
      return fail(token_.span, "the name '%' has a letter that is not ASCII", "A to Z, a to z, 0 to 9 and '_'");
    if (num_names == max_dims) return fail(token_.span, "too many dimensions", "at most 32");
    for (int d = 0; d < num_names; ++d)
      if (names[static_cast<std::size_t>(d)] == word)
        return fail(token_.span, "two dimensions are called '%'", "another name for each dimension");
    names[static_cast<std::size_t>(num_names)] = word;
    dim_spans_[static_cast<std::size_t>(num_names++)] = token_.span;
    next();
    return true;
  }

  constexpr bool read_name() {
    if (token_.kind != FormatToken::word) return unexpected("'(dims) -> (levels)' or the name of a format");
    FormatSpan span = token_.span;
    const auto word = view(span);
    next();
    std::array<std::int64_t, max_format_arguments> arguments{};
    int count = 0;
    if (accept('(')) {
      if (!is(')')) do {
          const bool negative = accept('-');
          if (token_.kind != FormatToken::number) return unexpected("a whole number");
          if (token_.overflow) return fail(token_.span, "the number '%' is too large", "a number that fits 64 bits");
          if (count == max_format_arguments) return fail(token_.span, "too many numbers", "");
          arguments[static_cast<std::size_t>(count++)] = negative ? -token_.value : token_.value;
          next();
        } while (accept(','));
      span.end = token_.span.end;
      if (!take(')', "',' or ')'")) return false;
    }
    const NamedFormat* named = find_named_format(word);
    if (!named) {
      FormatSpec own{};
      if (!lookup_.format || word.size() > max_name || !lookup_.format(word, own))
        return fail({span.begin, span.begin + word.size()}, "no format is called '%'",
                    "'(dims) -> (levels)' or the name of a format", "", FormatFault::name);
      if (count > 0) return fail(span, "a name of your own takes no numbers", "the name alone");
      return append(own, span);
    }
    if (count > 0 && named->numbers.empty())
      return fail(span, "'%' has no meaning", "this name without numbers", "", FormatFault::numbers);
    if (named->rank > 0) arguments[0] = named->rank, count = 1;
    FormatText expanded{};
    const int rank = spec.num_parts > 0 ? spec.num_dims : rank_;
    if (const char* wrong = expand_named_format(named->family, arguments, count, rank, expanded))
      return fail(span, "'%' has no meaning", wrong, "", FormatFault::numbers);
    FormatParser inner(expanded.view(), -1, {});
    if (!inner.parse())
      return fail(span, "'%' has no meaning", inner.fault.expected[0] ? inner.fault.expected : inner.fault.what);
    return append(inner.spec, span);
  }

  constexpr bool append(const FormatSpec& other, FormatSpan span) {
    if (spec.num_parts > 0 && spec.num_dims != other.num_dims)
      return fail(span, "the parts of a sum have different numbers of dimensions",
                  "as many dimensions as the first part has");
    if (!append_parts(spec, other))
      return fail(span, "the format is too large", "at most 8 parts, 64 levels and 512 operators");
    return true;
  }

  // ------------------------------------------------------------------------------------------------------ levels
  constexpr bool read_level() {
    if (spec.num_levels == max_levels) return fail(token_.span, "too many levels", "at most 64");
    Level level{};
    FormatSpan span = token_.span;
    const int expr = read_sum(0);
    if (expr < 0) return false;
    // Where the expression ends: before the white space that precedes this token.
    span.end = last_end_;
    level.expr = static_cast<std::int16_t>(expr);
    if (!take(':', "':' and the type of the level")) return false;
    if (!read_type(level)) return false;
    level_spans_[static_cast<std::size_t>(spec.num_levels)] = span;
    spec.levels[static_cast<std::size_t>(spec.num_levels++)] = level;
    return true;
  }

  std::size_t last_end_ = 0;  ///< end of the last token of an expression

  constexpr int node(ExprNode e, int depth, FormatSpan where) {
    if (spec.num_exprs == max_nodes)
      return fail(where, "the expressions of the levels are too long", "at most 512 dimensions and operators"), -1;
    if (depth > max_depth)
      return fail(where, "the expression is nested too deeply", "at most 64 operators inside each other"), -1;
    depth_[static_cast<std::size_t>(spec.num_exprs)] = static_cast<std::uint8_t>(depth);
    spec.exprs[static_cast<std::size_t>(spec.num_exprs)] = e;
    return spec.num_exprs++;
  }
  constexpr int depth_of(int n) const { return depth_[static_cast<std::size_t>(n)]; }

  constexpr int read_sum(int nesting) {
    int a = read_quotient(nesting);
    while (a >= 0 && (is('+') || is('-'))) {
      const bool plus = is('+');
      const FormatSpan op = token_.span;
      next();
      const int b = read_quotient(nesting);
      if (b < 0) return -1;
      const int da = depth_of(a), db = depth_of(b);
      a = node({plus ? ExprNode::add : ExprNode::sub, static_cast<std::int16_t>(a), static_cast<std::int16_t>(b), 0},
               1 + (da > db ? da : db), op);
    }
    return a;
  }

  constexpr int read_quotient(int nesting) {
    int a = read_operand(nesting);
    while (a >= 0 && (is('/') || is('%'))) {
      const bool div = is('/');
      const FormatSpan op = token_.span;
      next();
      const std::size_t begin = token_.span.begin;
      const bool negative = accept('-');
      if (token_.kind != FormatToken::number) return unexpected("a whole number, at least 1"), -1;
      if (token_.overflow) return fail(token_.span, "the number '%' is too large", "a number that fits 64 bits"), -1;
      if (negative || token_.value == 0)
        return fail({begin, token_.span.end}, "a dimension is divided by numbers from 1 on",
                    "a whole number, at least 1"),
               -1;
      const std::int64_t n = token_.value;
      last_end_ = token_.span.end;
      next();
      a = node({div ? ExprNode::div : ExprNode::mod, static_cast<std::int16_t>(a), -1, n}, 1 + depth_of(a), op);
    }
    return a;
  }

  constexpr int read_operand(int nesting) {
    if (is('(')) {
      if (nesting == max_depth)
        return fail(token_.span, "the expression is nested too deeply", "at most 64 parentheses inside each other"), -1;
      next();
      const int a = read_sum(nesting + 1);
      if (a < 0) return -1;
      last_end_ = token_.span.end;
      return take(')', "')'") ? a : -1;
    }
    if (token_.kind != FormatToken::word) return unexpected("a dimension"), -1;
    const auto word = view(token_.span);
    for (int d = 0; d < num_names; ++d)
      if (names[static_cast<std::size_t>(d)] == word) {
        const FormatSpan where = token_.span;
        last_end_ = where.end;
        next();
        return node({ExprNode::dim, static_cast<std::int16_t>(d), -1, 0}, 1, where);
      }
    return fail(token_.span, "no dimension is called '%'", "one of the dimensions", "", FormatFault::dimension), -1;
  }

  // ------------------------------------------------------------------------------------------------------ types
  /// Our notation `compressed(nonunique)`, and the blog's `<LevelFormat.COMPRESSED>` and `(<LevelFormat.DELTA>, 2)`.
  constexpr bool read_type(Level& level) {
    LevelArguments given{};
    const bool tuple = accept('(');
    FormatSpan span = token_.span;
    std::string_view word;
    if (!read_qualified("LevelFormat", "the type of a level", word, span)) return false;
    int kind = find_word(level_kind_words, word);
    if (kind < 0 && lookup_.level) {
      const FoundLevel own = lookup_.level(word);
      kind = own.kind;
      given.takes_number = own.takes_number;
    }
    if (kind < 0)
      return fail(span, "no level type '%'",
                  "batch, bitmap, compressed, delta, dense, padded, range, singleton, structured", "",
                  FormatFault::level_type);
    level.kind = static_cast<LevelKind>(kind);
    given.type = span;
    if (tuple) {
      if (accept(',') && !read_arguments(given)) return false;
      if (!take(')', "',' or ')'")) return false;
    } else if (accept('(')) {
      if (!read_arguments(given) || !take(')', "',' or ')'")) return false;
    }
    fault = check_arguments(level, given);
    return fault.what == nullptr;
  }

  /// word | Family.WORD | <Family.WORD>
  constexpr bool read_qualified(std::string_view family, const char* expected, std::string_view& word,
                                FormatSpan& span) {
    const bool bracket = accept('<');
    if (token_.kind != FormatToken::word) return unexpected(expected);
    span = token_.span;
    word = view(span);
    next();
    if (word == family && is('.')) {
      next();
      if (token_.kind != FormatToken::word) return unexpected(expected);
      span = token_.span;
      word = view(span);
      next();
    }
    return !bracket || take('>', "'>'");
  }

  constexpr bool read_arguments(LevelArguments& given) {
    do {
      if (is('(')) {  // the blog's tuple of properties
        next();
        do {
          if (!read_argument(given)) return false;
        } while (accept(','));
        if (!take(')', "',' or ')'")) return false;
      } else if (!read_argument(given)) {
        return false;
      }
    } while (accept(','));
    return true;
  }

  constexpr bool read_argument(LevelArguments& given) {
    FormatSpan span = token_.span;
    const bool negative = accept('-');
    if (token_.kind == FormatToken::number) {
      span.end = token_.span.end;
      if (token_.overflow) return fail(span, "the number '%' is too large", "a number that fits 64 bits");
      if (given.has_number) return fail(span, "a second number for one level", "one number at most");
      given.has_number = true;
      given.number = negative ? -token_.value : token_.value;
      given.number_span = span;
      next();
      return true;
    }
    if (negative) return unexpected("a whole number");
    std::string_view word;
    if (!read_qualified("LevelProperty", "a property or a number", word, span)) return false;
    const int p = find_word(property_words, word);
    if (p < 0)
      return fail(span, "no level property '%'", "unique, nonunique, ordered, unordered or a number", "",
                  FormatFault::property);
    const int family = p / 2;  // uniqueness, order
    if (given.property[family] >= 0) {
      const bool same = given.property[family] == p % 2;
      return fail(span, same ? "the property '%' is given twice" : "the property '%' contradicts an earlier one",
                  family == 0 ? "unique or nonunique, once" : "ordered or unordered, once");
    }
    given.property[family] = p % 2;
    given.property_spans[family] = span;
    return true;
  }
};

}  // namespace strata::detail
