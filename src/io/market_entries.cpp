#include "io/market_entries.h"

#include <algorithm>
#include <complex>

#include "io/entry_values.h"
#include "io/text_chunks.h"

namespace strata::io {
namespace {

struct MarketChunk : TextChunk {
  std::int64_t mirrored = 0;    ///< entries off the diagonal
  const char* lower = nullptr;  ///< first entry strictly below the diagonal, and above
  const char* upper = nullptr;
  bool ascending = true;  ///< strictly, by row and column
};

const char* read_index(const FileText& source, const char* p, std::int64_t extent, const char* what,
                       std::int64_t& value) {
  const char* end = source.end();
  p = skip_blanks(p, end);
  bool too_large = false;
  const char* q = parse_count(p, end, value, too_large);
  const bool word_ends = q != nullptr && (q == end || *q == '\n' || is_blank(*q));
  if (word_ends && !too_large && value >= 1 && value <= extent) return q;
  const std::string_view word = word_at(p, end);
  const std::string range = extent == 0 ? "no entry: the matrix is empty" : "from 1 to " + std::to_string(extent);
  if (word.empty()) source.fail(p, 1, {.what = std::string("the line ends before its ") + what, .expected = range});
  if (!word_ends)
    source.fail(p, word.size(),
                {.what = std::string("the ") + what + " is no index", .expected = range, .got = clipped(word)});
  source.fail(p, word.size(),
              {.what = std::string("the ") + what + " is outside the matrix",
               .expected = range,
               .got = clipped(word),
               .fix = !too_large && value == 0 ? "indices start at 1" : ""});
}

template <MarketField field, class Index>
void parse_coordinates(const FileText& source, const MarketHeader& header, MarketChunk& chunk, MarketEntries& out) {
  using T = typename ValueOf<field>::type;
  auto* rows = static_cast<Index*>(out.rows.data);
  auto* cols = static_cast<Index*>(out.cols.data);
  auto* values = static_cast<T*>(out.values.data);
  const bool mirror = header.symmetry != MarketSymmetry::general;
  const char* expected = field == MarketField::pattern   ? "row column"
                         : field == MarketField::complex ? "row column real imaginary"
                                                         : "row column value";
  std::int64_t k = chunk.first, last_row = -1, last_col = -1;
  for (const char* p = chunk.begin; p != chunk.end;) {
    p = skip_blanks(p, chunk.end);
    if (at_line_end(p, chunk.end) || *p == '%') {
      p = next_line(p, chunk.end);
      continue;
    }
    const char* line = p;
    std::int64_t row = 0, col = 0;
    p = read_index(source, p, header.rows, "row", row);
    p = read_index(source, p, header.cols, "column", col);
    p = skip_blanks(p, source.end());
    T value{};
    const char* at = p;
    p = read_value<field>(source, p, value);
    p = end_of_entry(source, p, expected);
    if (mirror && row == col) {
      if (header.symmetry == MarketSymmetry::skew && value != T{})
        source.fail(line, static_cast<std::size_t>(at - line),
                    {.what = "an entry on the diagonal of a skew-symmetric matrix",
                     .expected = "row > column: the diagonal is zero",
                     .got = "row and column " + std::to_string(row)});
      if constexpr (field == MarketField::complex)
        if (header.symmetry == MarketSymmetry::hermitian && value.imag() != 0)
          source.fail(at, static_cast<std::size_t>(p - at) - 1,
                      {.what = "the diagonal of a hermitian matrix is real",
                       .expected = "an imaginary part of 0",
                       .got = Scalar::of(value.imag()).to_string()});
    } else if (mirror) {
      ++chunk.mirrored;
      const char*& first = row > col ? chunk.lower : chunk.upper;
      if (first == nullptr) first = line;
    }
    chunk.ascending = chunk.ascending && (row > last_row || (row == last_row && col > last_col));
    last_row = row, last_col = col;
    rows[k] = static_cast<Index>(row - 1);
    cols[k] = static_cast<Index>(col - 1);
    values[k++] = value;
  }
}

template <MarketField field>
void parse_values(const FileText& source, MarketChunk& chunk, MarketEntries& out) {
  auto* values = static_cast<typename ValueOf<field>::type*>(out.values.data);
  std::int64_t k = chunk.first;
  for (const char* p = chunk.begin; p != chunk.end;) {
    p = skip_blanks(p, chunk.end);
    if (at_line_end(p, chunk.end) || *p == '%') {
      p = next_line(p, chunk.end);
      continue;
    }
    p = read_value<field>(source, p, values[k++]);
    p = end_of_entry(source, p, name_of_field(field));
  }
}

/// Appends the entries of the other triangle: (j, i) with the value, its negative or its conjugate.
template <MarketField field, class Index>
void mirror(const MarketHeader& header, const std::vector<MarketChunk>& chunks, MarketEntries& out) {
  auto* rows = static_cast<Index*>(out.rows.data);
  auto* cols = static_cast<Index*>(out.cols.data);
  auto* values = static_cast<typename ValueOf<field>::type*>(out.values.data);
  std::vector<std::int64_t> target(chunks.size() + 1, header.entries);
  for (std::size_t c = 0; c < chunks.size(); ++c) target[c + 1] = target[c] + chunks[c].mirrored;
  parallel_for(static_cast<std::int64_t>(chunks.size()), [&](std::int64_t c) {
    const MarketChunk& chunk = chunks[static_cast<std::size_t>(c)];
    std::int64_t q = target[static_cast<std::size_t>(c)];
    for (std::int64_t k = chunk.first; k < chunk.first + chunk.count; ++k) {
      if (rows[k] == cols[k]) continue;
      rows[q] = cols[k], cols[q] = rows[k];
      auto value = values[k];
      if (header.symmetry == MarketSymmetry::skew) {
        if constexpr (field == MarketField::integer)
          value = static_cast<std::int64_t>(0 - static_cast<std::uint64_t>(value));
        else if constexpr (field != MarketField::unsigned_integer) value = -value;
      }
      if constexpr (field == MarketField::complex)
        if (header.symmetry == MarketSymmetry::hermitian) value = std::conj(value);
      values[q++] = value;
    }
  });
}

/// The header's number of entries is believed only once that many lines have been seen.
void count_entries(const FileText& source, const MarketHeader& header, std::vector<MarketChunk>& chunks) {
  const std::int64_t total = count_lines(chunks, '%');
  const std::string wanted = std::to_string(header.entries) + (header.entries == 1 ? " entry" : " entries");
  if (total < header.entries)
    source.fail(source.end(), 0,
                {.what = "the file ends too early",
                 .expected = wanted + (header.coordinate ? ", as the size line says" : ", as the shape asks for"),
                 .got = std::to_string(total)});
  if (total == header.entries) return;
  const char* p = nullptr;
  for (const MarketChunk& chunk : chunks) {
    if (chunk.first + chunk.count <= header.entries) continue;
    std::int64_t k = chunk.first;
    for (p = chunk.begin;; p = next_line(p, chunk.end))
      if (has_data(p, chunk.end) && k++ == header.entries) break;
    break;
  }
  p = skip_blanks(p, source.end());
  source.fail(p, word_at(p, source.end()).size(),
              {.what = "more entries than the size line says", .expected = wanted, .got = std::to_string(total)});
}

void check_one_triangle(const FileText& source, const std::vector<MarketChunk>& chunks) {
  const char *lower = nullptr, *upper = nullptr;
  for (const MarketChunk& chunk : chunks) {
    if (!lower) lower = chunk.lower;
    if (!upper) upper = chunk.upper;
  }
  if (lower && upper)
    source.fail(std::max(lower, upper), 1,
                {.what = "entries on both sides of the diagonal in a symmetric file",
                 .expected = "one triangle: the other one follows from it",
                 .fix = "leave one triangle out, or write 'general'"});
}

template <MarketField field>
MarketEntries parse_field(const FileText& source, const MarketHeader& header, std::vector<MarketChunk>& chunks,
                          const std::function<void(double)>& progress) {
  MarketEntries out;
  const DType dtype = dtype_of_field(field);
  if (!header.coordinate) {
    out.values = Buffer::allocate(dtype, header.entries);
    for_chunks(chunks, progress, [&](MarketChunk& chunk) { parse_values<field>(source, chunk, out); });
    return out;
  }
  const bool mirrors = header.symmetry != MarketSymmetry::general;
  const std::int64_t capacity = header.entries * (mirrors ? 2 : 1);  // each entry took bytes of the file: no overflow
  const DType index = index_dtype_for(std::max(header.rows, header.cols));
  out.rows = Buffer::allocate(index, capacity);
  out.cols = Buffer::allocate(index, capacity);
  out.values = Buffer::allocate(dtype, capacity);
  const auto run = [&](auto zero) {
    using Index = decltype(zero);
    for_chunks(chunks, progress,
               [&](MarketChunk& chunk) { parse_coordinates<field, Index>(source, header, chunk, out); });
    if (mirrors) check_one_triangle(source, chunks);
    if (mirrors) mirror<field, Index>(header, chunks, out);
    std::int64_t total = header.entries;
    out.sorted = true;
    const auto* rows = static_cast<const Index*>(out.rows.data);
    const auto* cols = static_cast<const Index*>(out.cols.data);
    for (const MarketChunk& chunk : chunks) {
      total += chunk.mirrored;
      const std::int64_t k = chunk.first;
      const bool joins =
          k == 0 || chunk.count == 0 || rows[k] > rows[k - 1] || (rows[k] == rows[k - 1] && cols[k] > cols[k - 1]);
      out.sorted = out.sorted && chunk.ascending && joins && chunk.mirrored == 0;
    }
    out.rows.size = out.cols.size = out.values.size = total;
  };
  if (index == DType::i32) run(std::int32_t{});
  else run(std::int64_t{});
  return out;
}

}  // namespace

DType dtype_of_field(MarketField field) {
  switch (field) {
    case MarketField::integer: return DType::i64;
    case MarketField::unsigned_integer: return DType::u64;
    case MarketField::complex: return DType::c128;
    default: return DType::f64;
  }
}

MarketEntries parse_market_entries(const FileText& source, const MarketHeader& header,
                                   const std::function<void(double)>& progress) {
  auto chunks = cut_lines<MarketChunk>(source, header.data);
  count_entries(source, header, chunks);
  if (progress) progress(0.1);
  switch (header.field) {
    case MarketField::real: return parse_field<MarketField::real>(source, header, chunks, progress);
    case MarketField::integer: return parse_field<MarketField::integer>(source, header, chunks, progress);
    case MarketField::unsigned_integer:
      return parse_field<MarketField::unsigned_integer>(source, header, chunks, progress);
    case MarketField::complex: return parse_field<MarketField::complex>(source, header, chunks, progress);
    default: return parse_field<MarketField::pattern>(source, header, chunks, progress);
  }
}

}  // namespace strata::io
