#include "io/file_text.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <limits>
#include <utility>

namespace strata::io {

void FileText::fail(const char* at, std::size_t length, Problem problem) const {
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

void refuse_packed(const FileText& source, const std::string& suffix) {
  const std::string_view start = source.text.substr(0, 4);
  const char* p = source.begin();
  if (start.substr(0, 2) == "\x1f\x8b")
    source.fail(
        p, 2,
        {.what = "a gzip file", .expected = "text", .fix = "name it FILE" + suffix + ".gz, or unpack it: gunzip FILE"});
  if (start.substr(0, 2) == "PK")
    source.fail(p, 2, {.what = "a zip file", .expected = "text", .fix = "unpack it first: unzip FILE"});
  if (start.substr(0, 3) == "\xef\xbb\xbf")
    source.fail(p, 3,
                {.what = "a byte-order mark before the text",
                 .expected = suffix == ".mtx" ? "%%MatrixMarket" : "numbers",
                 .fix = "save the file without a byte-order mark"});
}

namespace {

/// The digits at p as an unsigned number; null where there are none.
const char* parse_digits(const char* p, const char* end, std::uint64_t& value, bool& too_large) {
  const char* start = p;
  const char* const safe = end - p > 19 ? p + 19 : end;  // 19 digits fit whatever they are
  value = 0;
  for (; p != safe && *p >= '0' && *p <= '9'; ++p) value = value * 10 + static_cast<std::uint64_t>(*p - '0');
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

}  // namespace

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
