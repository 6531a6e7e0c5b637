#include "io/market_header.h"

#include <utility>

#include "base/checked.h"

namespace strata::io {
namespace {

std::string lower(std::string_view s) {
  std::string r(s.substr(0, 64));
  for (char& c : r)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return r;
}

struct MarketWord {
  std::string_view text;
  const char* position;
};

template <class T, std::size_t n>
T choose(const FileText& source, const MarketWord& word, const char* what,
         const std::pair<const char*, T> (&choices)[n]) {
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

void parse_banner(const FileText& source, MarketHeader& header) {
  const char* end = source.end();
  const char* p = source.begin();
  refuse_packed(source, ".mtx");
  if (source.text.empty()) source.fail(p, 0, {.what = "an empty file", .expected = banner_form});

  MarketWord words[6];
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

void parse_size_line(const FileText& source, const char* p, MarketHeader& header) {
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

MarketHeader parse_market_header(const FileText& source) {
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

}  // namespace strata::io
