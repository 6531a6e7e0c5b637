#include "io/market_text.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <limits>
#include <utility>

#include "base/checked.h"

namespace strata::io {

void MarketText::fail(const char* at, std::size_t length, Problem problem) const {
  const char* first = at;
  while (first != begin() && first[-1] != '\n') --first;
  const char* last = std::find(at, end(), '\n');
  if (last != first && last[-1] == '\r') --last;
  const auto line = std::count(begin(), first, '\n') + 1;
  const std::string head =
      name + ", line " + std::to_string(line) + ", column " + std::to_string(at - first + 1) + ": ";
  problem.what = head + problem.what;
  // A window is enough: a line may be gigabytes long.
  constexpr std::ptrdiff_t reach = 200;
  const char* window = at - first > reach ? at - reach : first;
  const char* window_end = last - at > reach ? at + reach : std::max(last, at);
  problem.text.assign(window, static_cast<std::size_t>(window_end - window));
  problem.where = {static_cast<std::size_t>(at - window),
                   static_cast<std::size_t>(at - window) + std::max<std::size_t>(length, 1)};
  throw FileError(std::move(problem));
}

const char* next_line(const char* p, const char* end) {
  const void* newline = p == end ? nullptr : std::memchr(p, '\n', static_cast<std::size_t>(end - p));
  return newline ? static_cast<const char*>(newline) + 1 : end;
}

namespace {

std::string lower(std::string_view s) {
  std::string r(s.substr(0, 64));
  for (char& c : r)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return r;
}

/// The digits at p as an unsigned number; null where there are none.
const char* parse_digits(const char* p, const char* end, std::uint64_t& value, bool& too_large) {
  const char* start = p;
  value = 0;
  for (; p != end && *p >= '0' && *p <= '9'; ++p)
    if (__builtin_mul_overflow(value, std::uint64_t{10}, &value) ||
        __builtin_add_overflow(value, static_cast<std::uint64_t>(*p - '0'), &value))
      too_large = true;
  return p == start ? nullptr : p;
}

/// Is the well-formed number in [p, end) larger than any double (rather than closer to 0 than any)? Looks at the
/// decimal exponent of its first digit that is not 0.
bool is_huge(const char* p, const char* end) {
  std::int64_t scale = 0;
  bool point = false, seen = false;
  for (; p != end && *p != 'e' && *p != 'E'; ++p) {
    if (*p == '.') point = true;
    if (*p < '0' || *p > '9') continue;
    seen = seen || *p != '0';
    if (seen && !point) ++scale;
    if (!seen && point) --scale;
  }
  if (p == end) return scale > 0;
  const bool negative = p + 1 != end && p[1] == '-';
  p += p + 1 != end && (p[1] == '-' || p[1] == '+') ? 2 : 1;
  std::int64_t exponent = 0;
  for (; p != end; ++p) exponent = std::min<std::int64_t>(exponent * 10 + (*p - '0'), 1000000000000000);
  return scale + (negative ? -exponent : exponent) > 0;
}

struct Word {
  std::string_view text;
  const char* position;
};

template <class T, std::size_t n>
T choose(const MarketText& source, const Word& word, const char* what, const std::pair<const char*, T> (&choices)[n]) {
  const std::string key = lower(word.text);
  std::string expected;
  for (const auto& [name, value] : choices) {
    if (key == name) return value;
    expected += (expected.empty() ? "" : ", ") + std::string(name);
  }
  source.fail(word.position, word.text.size(),
              {.what = "no " + std::string(what) + " '" + std::string(word.text.substr(0, 64)) + "'",
               .expected = expected,
               .got = std::string(word.text)});
}

constexpr const char* banner_form =
    "%%MatrixMarket matrix coordinate|array real|double|integer|complex|pattern "
    "general|symmetric|skew-symmetric|hermitian";

void parse_banner(const MarketText& source, MarketHeader& header) {
  const char* end = source.end();
  const char* p = source.begin();
  const std::string_view start = source.text.substr(0, 4);
  if (start.substr(0, 2) == "\x1f\x8b")
    source.fail(p, 2,
                {.what = "a gzip file", .expected = "text", .fix = "name it FILE.mtx.gz, or unpack it: gunzip FILE"});
  if (start.substr(0, 2) == "PK")
    source.fail(p, 2, {.what = "a zip file", .expected = "text", .fix = "unpack it first: unzip FILE"});
  if (start.substr(0, 3) == "\xef\xbb\xbf")
    source.fail(p, 3,
                {.what = "a byte-order mark before the banner",
                 .expected = "%%MatrixMarket",
                 .fix = "save the file without a byte-order mark"});
  if (source.text.empty()) source.fail(p, 0, {.what = "an empty file", .expected = banner_form});

  Word words[6];
  int count = 0;
  for (p = skip_blanks(p, end); !at_line_end(p, end) && count < 6; p = skip_blanks(p, end)) {
    words[count] = {word_at(p, end), p};
    p += words[count++].text.size();
  }
  if (count == 0 || (lower(words[0].text) != "%%matrixmarket" && lower(words[0].text) != "%matrixmarket"))
    source.fail(source.begin(), count ? words[0].text.size() : 1,
                {.what = "not a Matrix Market file",
                 .expected = "%%MatrixMarket",
                 .got = count ? std::string(words[0].text.substr(0, 64)) : "a blank line"});
  if (count < 5)
    source.fail(
        p, 1, {.what = "the banner ends too early", .expected = banner_form, .got = std::to_string(count) + " words"});
  if (count > 5)
    source.fail(words[5].position, words[5].text.size(),
                {.what = "the banner has more than five words", .expected = banner_form});
  choose<int>(source, words[1], "object", {{"matrix", 0}});
  header.coordinate = choose<bool>(source, words[2], "layout", {{"coordinate", true}, {"array", false}});
  header.field = choose<MarketField>(source, words[3], "field",
                                     {{"real", MarketField::real},
                                      {"double", MarketField::real},
                                      {"integer", MarketField::integer},
                                      {"unsigned-integer", MarketField::unsigned_integer},
                                      {"complex", MarketField::complex},
                                      {"pattern", MarketField::pattern}});
  header.symmetry = choose<MarketSymmetry>(source, words[4], "symmetry",
                                           {{"general", MarketSymmetry::general},
                                            {"symmetric", MarketSymmetry::symmetric},
                                            {"skew-symmetric", MarketSymmetry::skew},
                                            {"hermitian", MarketSymmetry::hermitian}});
  if (!header.coordinate && header.field == MarketField::pattern)
    source.fail(
        words[3].position, words[3].text.size(),
        {.what = "an array file has values, so it cannot be a pattern", .fix = "write 'coordinate', or another field"});
  if (header.symmetry == MarketSymmetry::skew && header.field == MarketField::unsigned_integer)
    source.fail(words[4].position, words[4].text.size(),
                {.what = "a skew-symmetric matrix has negative values; unsigned integers cannot hold them",
                 .fix = "write 'integer'"});
}

void parse_size_line(const MarketText& source, const char* p, MarketHeader& header) {
  const char* end = source.end();
  const int wanted = header.coordinate ? 3 : 2;
  const char* form = header.coordinate ? "rows columns entries" : "rows columns";
  const char* names[] = {"number of rows", "number of columns", "number of entries"};
  std::int64_t values[3] = {};
  header.size_line = skip_blanks(p, end);
  for (int k = 0; k < wanted; ++k) {
    p = skip_blanks(p, end);
    const std::string_view word = word_at(p, end);
    if (word.empty())
      source.fail(p, 1,
                  {.what = "the size line ends too early",
                   .expected = form,
                   .got = std::to_string(k) + (k == 1 ? " number" : " numbers")});
    bool too_large = false;
    const char* q = parse_count(p, end, values[k], too_large);
    if (q != word.data() + word.size() || too_large)
      source.fail(p, word.size(),
                  {.what = "the " + std::string(names[k]) + (too_large && q ? " does not fit 63 bits" : " is no count"),
                   .expected = std::string(form) + ", each from 0 to 9223372036854775807",
                   .got = std::string(word.substr(0, 64))});
    p = q;
  }
  p = skip_blanks(p, end);
  if (!at_line_end(p, end))
    source.fail(p, word_at(p, end).size(),
                {.what = "the size line holds more than it should",
                 .expected = form,
                 .got = std::string(word_at(p, end).substr(0, 64))});
  header.rows = values[0], header.cols = values[1], header.entries = values[2];
  header.data = next_line(p, end);

  if (header.symmetry != MarketSymmetry::general && header.rows != header.cols)
    source.fail(header.size_line, static_cast<std::size_t>(p - header.size_line),
                {.what = "a symmetric, skew-symmetric or hermitian matrix is square",
                 .expected = "as many rows as columns",
                 .got = std::to_string(header.rows) + " x " + std::to_string(header.cols)});
  if (header.coordinate) return;
  const std::int64_t n = header.rows;
  std::int64_t extents[2] = {n, header.cols};
  std::optional<std::int64_t> count = checked_product(extents);
  // n * n fits, so the triangles do.
  if (count && header.symmetry == MarketSymmetry::skew) count = n == 0 ? 0 : (*count - n) / 2;
  else if (count && header.symmetry != MarketSymmetry::general) count = (*count - n) / 2 + n;
  if (!count)
    source.fail(header.size_line, static_cast<std::size_t>(p - header.size_line),
                {.what = "rows times columns exceeds 63 bits",
                 .got = std::to_string(header.rows) + " x " + std::to_string(header.cols)});
  header.entries = *count;
}

}  // namespace

MarketHeader parse_market_header(const MarketText& source) {
  MarketHeader header;
  parse_banner(source, header);
  const char* end = source.end();
  const char* p = next_line(source.begin(), end);
  while (p != end && !has_data(p, end)) p = next_line(p, end);
  if (p == end)
    source.fail(p, 0,
                {.what = "the file ends before the size line",
                 .expected = header.coordinate ? "rows columns entries" : "rows columns"});
  parse_size_line(source, p, header);
  return header;
}

const char* parse_count(const char* p, const char* end, std::int64_t& value, bool& too_large) {
  std::uint64_t magnitude = 0;
  const char* q = parse_digits(p, end, magnitude, too_large);
  too_large = too_large || magnitude > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  value = static_cast<std::int64_t>(magnitude);
  return q;
}

const char* parse_integer(const char* p, const char* end, std::int64_t& value, bool& too_large) {
  const bool negative = p != end && *p == '-';
  if (p != end && (*p == '-' || *p == '+')) ++p;
  std::uint64_t magnitude = 0;
  const char* q = parse_digits(p, end, magnitude, too_large);
  too_large = too_large ||
              magnitude > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()) + (negative ? 1 : 0);
  value = static_cast<std::int64_t>(negative ? 0 - magnitude : magnitude);
  return q;
}

const char* parse_unsigned(const char* p, const char* end, std::uint64_t& value, bool& too_large) {
  if (p != end && *p == '+') ++p;
  return parse_digits(p, end, value, too_large);
}

namespace {

bool is_digit(const char* p, const char* end) { return p < end && *p >= '0' && *p <= '9'; }

/// Past an exponent as Fortran writes one of double precision, D+02; null where there is none at p.
const char* end_of_fortran_exponent(const char* p, const char* end) {
  if (p == end || (*p != 'd' && *p != 'D')) return nullptr;
  ++p;
  if (p != end && (*p == '-' || *p == '+')) ++p;
  if (!is_digit(p, end)) return nullptr;
  while (is_digit(p, end)) ++p;
  return p;
}

}  // namespace

const char* parse_real(const char* p, const char* end, double& value, bool& too_large) {
  if (p != end && *p == '+') {
    ++p;
    if (p != end && *p == '-') return nullptr;
  }
  const auto [q, error] = std::from_chars(p, end, value);
  if (error == std::errc::invalid_argument) return nullptr;
  if (const char* const last = end_of_fortran_exponent(q, end); last && (is_digit(q - 1, q) || q[-1] == '.')) {
    std::string c(p, last);
    c[static_cast<std::size_t>(q - p)] = 'e';
    return parse_real(c.data(), c.data() + c.size(), value, too_large) == c.data() + c.size() ? last : nullptr;
  }
  const bool negative = *p == '-';
  if (error == std::errc::result_out_of_range) {  // a number nearer to 0 than any double is 0, with its sign
    too_large = is_huge(p, q);
    value = negative ? -0.0 : 0.0;
  } else if (value != value) {
    // NaN: from_chars drops the bits that write_matrix_market put in the parentheses.
    std::uint64_t bits = 0x7ff8000000000000;
    const char* open = std::find(p, q, '(');
    if (q - open > 4 && open[1] == '0' && open[2] == 'x') {
      const auto hex = std::from_chars(open + 3, q - 1, bits, 16);
      bits = (bits & 0x000fffffffffffff) | 0x7ff0000000000000;
      if (hex.ec != std::errc() || hex.ptr != q - 1 || bits == 0x7ff0000000000000) bits = 0x7ff8000000000000;
    }
    bits |= negative ? 0x8000000000000000 : 0;
    std::memcpy(&value, &bits, sizeof value);
  }
  return q;
}

}  // namespace strata::io
