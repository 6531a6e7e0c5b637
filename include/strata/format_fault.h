#pragma once
// What is wrong with a format, as a literal: constexpr and without exceptions, a fault is a value. Words of levels, and
// what may stand between their parentheses.
#include "strata/format.h"

namespace strata::detail {

inline constexpr int max_depth = 64;  ///< operators or parentheses inside each other

struct FormatSpan {
  std::size_t begin = 0, end = 0;
};

/// What is wrong with a format, as a literal: what, expected, fix; '%' in `what` stands for the text at `where`.
struct FormatFault {
  enum Hint : std::uint8_t {
    none,
    level_type,
    property,
    name,
    numbers,
    dimension,
    other_half,
    skew_side,
    missing_level
  };
  const char* what = nullptr;  ///< null: nothing is wrong
  const char* expected = "";
  const char* fix = "";
  FormatSpan where{};
  int level = -1, dim = -1;  ///< check_part: whose place it is (level counts over all parts)
  Hint hint = none;          ///< how the run-time parser looks for a better fix
  int node = -1;             ///< other_half, skew_side: the expression (FormatSpec::exprs)
};

inline constexpr std::array<std::string_view, level_kind_count> level_kind_words = {
    "dense", "batch", "compressed", "singleton", "range", "delta", "structured", "padded", "bitmap"};
/// Pairs; the odd ones deny what is true unless said.
inline constexpr std::array<std::string_view, 4> property_words = {"unique", "nonunique", "ordered", "unordered"};

constexpr char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; }
constexpr bool same_word(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i)
    if (lower(a[i]) != lower(b[i])) return false;
  return true;
}
template <std::size_t N> constexpr int find_word(const std::array<std::string_view, N>& words, std::string_view word) {
  for (std::size_t i = 0; i < N; ++i)
    if (same_word(words[i], word)) return static_cast<int>(i);
  return -1;
}
constexpr void put_name(std::array<char, max_name + 1>& to, std::string_view name) {
  for (std::size_t i = 0; i < to.size(); ++i) to[i] = i < name.size() && i < max_name ? name[i] : '\0';
}

/// A level type that a user registered: its kind (-1: there is none), and whether it needs a number.
struct FoundLevel {
  int kind = -1;
  bool takes_number = false;
};

/// What stood between the parentheses of a level's type.
struct LevelArguments {
  FormatSpan type{}, number_span{};
  bool has_number = false;
  bool takes_number = false;  ///< a registered type's
  std::int64_t number = 0;
  std::array<int, 2> property{-1, -1};  ///< uniqueness, order: 0 as the default, 1 denied, -1 not given
  std::array<FormatSpan, 2> property_spans{};
};

constexpr FormatFault check_arguments(Level& level, const LevelArguments& given) {
  const LevelKind kind = level.kind;
  const bool properties = kind == LevelKind::compressed || kind == LevelKind::singleton || kind == LevelKind::padded;
  for (std::size_t p = 0; p < 2; ++p)
    if (given.property[p] == 1 && !properties) {
      if (kind == LevelKind::delta)
        return {.what = "a delta level cannot be '%'",
                .expected = "gaps count upwards: it is always unique and ordered",
                .fix = "leave it out, or use compressed",
                .where = given.property_spans[p]};
      return {.what = "this type of level cannot be '%'",
              .expected = "compressed, singleton and padded levels take this property",
              .fix = "leave it out",
              .where = given.property_spans[p]};
    }
  level.unique = given.property[0] != 1;
  level.ordered = given.property[1] != 1;
  const FormatSpan where = given.has_number ? given.number_span : given.type;
  switch (kind) {
    case LevelKind::delta:
      if (!given.has_number || given.number < 1 || given.number > 32)
        return {.what = given.has_number ? "delta cannot have % bits" : "delta needs its number of bits",
                .expected = "from 1 to 32 bits",
                .fix = "write delta(8)",
                .where = where};
      break;
    case LevelKind::structured:
      if (!given.has_number || given.number < 1)
        return {.what = given.has_number ? "structured cannot store % of each group"
                                         : "structured needs the number that is stored of each group",
                .expected = "at least 1",
                .fix = "write structured(2)",
                .where = where};
      break;
    case LevelKind::padded:
      if (given.has_number && given.number < 1)
        return {.what = "padded cannot have % slots",
                .expected = "at least 1, or no number: the longest row decides",
                .fix = "write padded",
                .where = where};
      break;
    default:
      if (given.takes_number) {
        if (!given.has_number || given.number < 1)
          return {
              .what = given.has_number ? "this level type cannot have the number %" : "this level type needs a number",
              .expected = "a whole number, at least 1: its texts call it n",
              .where = where};
        break;
      }
      if (given.has_number)
        return {.what = "this type of level takes no number",
                .expected = "numbers belong to delta, structured and padded",
                .fix = "leave it out",
                .where = where};
  }
  level.arg = given.has_number ? given.number : 0;
  return {};
}

}  // namespace strata::detail
