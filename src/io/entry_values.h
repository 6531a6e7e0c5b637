#pragma once
// The value of an entry in a line of text, by the field of its file.
#include <complex>

#include "io/market_header.h"

namespace strata::io {

inline const char* name_of_field(MarketField f) {
  switch (f) {
    case MarketField::real: return "a real number";
    case MarketField::integer: return "an integer";
    case MarketField::unsigned_integer: return "an unsigned integer";
    case MarketField::complex: return "a real and an imaginary part";
    default: return "no value";
  }
}

/// The C++ type of a field's values.
template <MarketField field>
struct ValueOf {
  using type = double;
};
template <>
struct ValueOf<MarketField::integer> {
  using type = std::int64_t;
};
template <>
struct ValueOf<MarketField::unsigned_integer> {
  using type = std::uint64_t;
};
template <>
struct ValueOf<MarketField::complex> {
  using type = std::complex<double>;
};

[[noreturn]] inline void fail_number(const FileText& source, MarketField field, const char* p, bool too_large) {
  const std::string_view word = word_at(p, source.end());
  if (word.empty()) source.fail(p, 1, {.what = "the line ends before its value", .expected = name_of_field(field)});
  std::string fix;
  if (word.find(',') != word.npos) fix = "write a decimal point, not a comma";
  if (too_large)
    source.fail(
        p, word.size(),
        {.what = std::string("the value does not fit ") + (field == MarketField::integer            ? "int64"
                                                           : field == MarketField::unsigned_integer ? "uint64"
                                                                                                    : "float64"),
         .expected = name_of_field(field),
         .got = clipped(word)});
  source.fail(p, word.size(),
              {.what = "the value is not a number of the file's field",
               .expected = name_of_field(field),
               .got = clipped(word),
               .fix = fix});
}

/// Reads one number of a value; returns its end, with a word boundary behind it.
template <class T, class Parse>
const char* read_number(const FileText& source, MarketField field, const char* p, T& value, Parse parse) {
  const char* end = source.end();
  bool too_large = false;
  const char* q = parse(p, end, value, too_large);
  if (q == nullptr || too_large || !(q == end || *q == '\n' || is_blank(*q)))
    fail_number(source, field, p, q != nullptr && too_large);
  return q;
}

/// Reads the value at p; returns its end.
template <MarketField field>
const char* read_value(const FileText& source, const char* p, typename ValueOf<field>::type& value) {
  if constexpr (field == MarketField::pattern) {
    value = 1;
    return p;
  } else if constexpr (field == MarketField::complex) {
    double re = 0, im = 0;
    p = skip_blanks(read_number(source, field, p, re, parse_real), source.end());
    p = read_number(source, field, p, im, parse_real);
    value = {re, im};
    return p;
  } else if constexpr (field == MarketField::integer) {
    return read_number(source, field, p, value, parse_integer);
  } else if constexpr (field == MarketField::unsigned_integer) {
    return read_number(source, field, p, value, parse_unsigned);
  } else {
    return read_number(source, field, p, value, parse_real);
  }
}

/// Past the line whose entry ends at p; anything else in it is refused.
inline const char* end_of_entry(const FileText& source, const char* p, const char* expected) {
  const char* end = source.end();
  p = skip_blanks(p, end);
  if (at_line_end(p, end)) return p == end ? end : p + 1;
  const std::string_view word = word_at(p, end);
  source.fail(p, word.size(),
              {.what = "the line holds more than one entry", .expected = expected, .got = clipped(word)});
}

}  // namespace strata::io
