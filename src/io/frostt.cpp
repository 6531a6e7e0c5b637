// FROSTT files (.tns). Source: S. Smith et al., "FROSTT: The Formidable Repository of Open Sparse Tensors and Tools",
// 2017.
#include <algorithm>
#include <array>
#include <atomic>
#include <limits>

#include "io/entry_values.h"
#include "io/file.h"
#include "io/market_entries.h"
#include "io/number_text.h"
#include "io/text_chunks.h"
#include "strata/io.h"
#include "strata/ops.h"
#include "strata/settings.h"
#include "tensor/tensor_impl.h"

namespace strata {
namespace {

using io::FileText;
using io::MarketField;

constexpr char comment = '#';
constexpr std::string_view shape_mark = "# shape:";

struct FrosttChunk : io::TextChunk {
  std::array<std::int64_t, max_dims> largest{};  ///< coordinate of each mode
  bool ascending = true;                         ///< strictly, mode by mode
};

MarketField field_of(DType dtype) {
  if (dtype == DType::f64) return MarketField::real;
  if (dtype == DType::i64) return MarketField::integer;
  if (dtype == DType::u64) return MarketField::unsigned_integer;
  throw DTypeError({.what = "values of a FROSTT file are read as float64, int64 or uint64",
                    .expected = "float64, int64, uint64",
                    .got = std::string(name_of(dtype)),
                    .fix = "convert afterwards"});
}

/// How many coordinates the first line of data has; 0 for a file without any.
int rank_of(const FileText& source) {
  const char* end = source.end();
  const char* p = source.begin();
  while (p != end && !io::has_data(p, end, comment)) p = io::next_line(p, end);
  if (p == end) return 0;
  int words = 0;
  for (p = io::skip_blanks(p, end); !io::at_line_end(p, end) && *p != comment; p = io::skip_blanks(p, end)) {
    const std::string_view word = io::word_at(p, end);
    if (++words > max_dims + 1)
      source.fail(p, word.size(),
                  {.what = "more modes than a tensor has here", .expected = "at most " + std::to_string(max_dims)});
    p += word.size();
  }
  if (words < 2) source.fail(p, 1, {.what = "the line ends before its value", .expected = "coordinates and a value"});
  return words - 1;
}

/// A first line `# shape: 3 4 5`, which others take for a comment.
Shape told_shape(const FileText& source) {
  Shape shape;
  if (source.text.substr(0, shape_mark.size()) != shape_mark) return shape;
  const char* end = source.end();
  for (const char* p = io::skip_blanks(source.begin() + shape_mark.size(), end); !io::at_line_end(p, end);
       p = io::skip_blanks(p, end)) {
    const std::string_view word = io::word_at(p, end);
    std::int64_t extent = 0;
    bool too_large = false;
    if (io::parse_count(p, end, extent, too_large) != word.data() + word.size() || too_large ||
        shape.size() == static_cast<std::size_t>(max_dims))
      source.fail(p, word.size(),
                  {.what = "no shape",
                   .expected = "at most " + std::to_string(max_dims) + " extents, as in # shape: 3 4 5",
                   .got = io::clipped(word)});
    shape.push_back(extent);
    p += word.size();
  }
  return shape;
}

[[noreturn]] void fail_coordinate(const FileText& source, const char* p, std::size_t mode, std::int64_t extent,
                                  bool too_large) {
  const std::string_view word = io::word_at(p, source.end());
  const std::string what = "coordinate " + std::to_string(mode + 1);
  const std::string range = extent == 0 ? "no element: the tensor is empty" : "from 1 to " + std::to_string(extent);
  if (word.empty()) source.fail(p, 1, {.what = "the line ends before " + what, .expected = range});
  std::int64_t value = 0;
  bool beyond = too_large;
  const char* q = io::parse_count(p, source.end(), value, beyond);
  if (q != word.data() + word.size())
    source.fail(p, word.size(), {.what = what + " is no index", .expected = range, .got = io::clipped(word)});
  source.fail(p, word.size(),
              {.what = what + " is outside the tensor",
               .expected = range,
               .got = io::clipped(word),
               .fix = !beyond && value == 0 ? "coordinates start at 1" : ""});
}

struct Lists {
  std::vector<Buffer> coords;
  Buffer values;
};

/// Strictly ascending, also from one chunk to the next?
bool sorted(const Lists& lists, const std::vector<FrosttChunk>& chunks) {
  for (const FrosttChunk& chunk : chunks) {
    if (!chunk.ascending) return false;
    if (chunk.first == 0 || chunk.count == 0) continue;
    bool ascends = false;
    for (const Buffer& c : lists.coords) {
      const std::int64_t last = c.index(chunk.first - 1), next = c.index(chunk.first);
      if (last > next) return false;
      if (last < next) {
        ascends = true;
        break;
      }
    }
    if (!ascends) return false;
  }
  return true;
}

Tensor borrow_lists(const Lists& lists, const Shape& shape, const Format& coo) {
  Buffer pos = Buffer::allocate(index_dtype_for(lists.values.size), 2);
  pos.set_index(0, 0);
  pos.set_index(1, lists.values.size);
  RawArrays arrays;
  arrays.pos[0] = pos;
  for (std::size_t d = 0; d < lists.coords.size(); ++d) arrays.crd[static_cast<int>(d)] = lists.coords[d];
  arrays.values = lists.values;
  return make_tensor(coo, shape, std::move(arrays), {}, /*check=*/false);
}

/// Reads the lines of a chunk. Where no shape is told, `limits` are the largest that Index holds, and false is returned
/// for a coordinate beyond it.
template <MarketField field, class Index>
bool parse_lines(const FileText& source, const Shape& limits, bool told, FrosttChunk& chunk, const Lists& out) {
  const std::size_t rank = limits.size();
  std::array<Index*, max_dims> coords{};
  for (std::size_t d = 0; d < rank; ++d) coords[d] = static_cast<Index*>(out.coords[d].data);
  auto* values = static_cast<typename io::ValueOf<field>::type*>(out.values.data);
  const char* end = source.end();
  std::int64_t k = chunk.first;
  std::array<std::int64_t, max_dims> before{};
  for (const char* p = chunk.begin; p != chunk.end;) {
    p = io::skip_blanks(p, chunk.end);
    if (io::at_line_end(p, chunk.end) || *p == comment) {
      p = io::next_line(p, chunk.end);
      continue;
    }
    bool follows = false;
    for (std::size_t d = 0; d < rank; ++d) {
      p = io::skip_blanks(p, end);
      std::int64_t value = 0;
      bool too_large = false;
      const char* q = io::parse_count(p, end, value, too_large);
      const bool ends = q != nullptr && (q == end || *q == '\n' || io::is_blank(*q));
      if (!ends || too_large || value < 1 || (told && value > limits[d]))
        fail_coordinate(source, p, d, told ? limits[d] : std::numeric_limits<std::int64_t>::max(), too_large);
      if (value > limits[d]) return false;
      coords[d][k] = static_cast<Index>(value - 1);
      chunk.largest[d] = std::max(chunk.largest[d], value);
      if (!follows && value != before[d]) {  // the first mode that differs decides
        follows = true;
        chunk.ascending = chunk.ascending && value > before[d];
      }
      before[d] = value;
      p = q;
    }
    chunk.ascending = chunk.ascending && follows;
    p = io::read_value<field>(source, io::skip_blanks(p, end), values[k++]);
    p = io::skip_blanks(p, end);
    if (p != end && *p == comment) p = io::next_line(p, end);
    else p = io::end_of_entry(source, p, "coordinates and a value");
  }
  return true;
}

template <MarketField field, class Index>
bool parse_chunks(const FileText& source, const Shape& limits, bool told, std::vector<FrosttChunk>& chunks, Lists& out,
                  const std::function<void(double)>& progress) {
  const std::int64_t n = chunks.empty() ? 0 : chunks.back().first + chunks.back().count;
  out.coords.clear();
  for (std::size_t d = 0; d < limits.size(); ++d) out.coords.push_back(Buffer::allocate(dtype_of<Index>(), n));
  out.values = Buffer::allocate(io::dtype_of_field(field), n);
  for (FrosttChunk& chunk : chunks) chunk.largest = {}, chunk.ascending = true;
  std::atomic<bool> fits{true};
  io::for_chunks(chunks, progress, [&](FrosttChunk& chunk) {
    if (!parse_lines<field, Index>(source, limits, told, chunk, out)) fits = false;
  });
  return fits;
}

template <MarketField field>
Lists parse(const FileText& source, Shape& shape, bool told, std::vector<FrosttChunk>& chunks,
            const std::function<void(double)>& progress) {
  Lists out;
  const auto largest = [](auto zero) { return static_cast<std::int64_t>(std::numeric_limits<decltype(zero)>::max()); };
  const std::int64_t narrow = std::min<std::int64_t>(settings().int32_limit, largest(std::int32_t{}));
  bool done = false;
  if (!told || std::all_of(shape.begin(), shape.end(), [&](std::int64_t e) { return e <= narrow; })) {
    const Shape limits = told ? shape : Shape(shape.size(), narrow);
    done = parse_chunks<field, std::int32_t>(source, limits, told, chunks, out, progress);
  }
  // A coordinate too large for 32 bits: once more.
  if (!done) {
    const Shape limits = told ? shape : Shape(shape.size(), largest(std::int64_t{}));
    parse_chunks<field, std::int64_t>(source, limits, told, chunks, out, progress);
  }
  if (!told)
    for (const FrosttChunk& chunk : chunks)
      for (std::size_t d = 0; d < shape.size(); ++d) shape[d] = std::max(shape[d], chunk.largest[d]);
  return out;
}

}  // namespace

Tensor parse_frostt(std::string_view text, const std::string& name, const FrosttOptions& options,
                    const std::function<void(double)>& progress) {
  const MarketField field = field_of(options.dtype);
  const FileText source{text, name};
  io::refuse_packed(source, ".tns");
  Shape shape = options.shape.empty() ? told_shape(source) : options.shape;
  const bool told = !shape.empty();
  const int rank = rank_of(source);
  if (rank == 0 && !told)
    source.fail(source.begin(), 0,
                {.what = "no element from which the number of modes would follow",
                 .expected = "a line of coordinates and a value",
                 .fix = "say it: shape=(3, 4, 5)"});
  if (rank != 0 && told && rank != static_cast<int>(shape.size())) {
    const char* p = source.begin();
    while (!io::has_data(p, source.end(), comment)) p = io::next_line(p, source.end());
    source.fail(io::skip_blanks(p, source.end()), 1,
                {.what = "another number of coordinates than the shape has dimensions",
                 .expected = std::to_string(shape.size()) + " coordinates and a value",
                 .got = std::to_string(rank + 1) + " words"});
  }
  if (!told) shape.assign(static_cast<std::size_t>(rank), 0);
  auto chunks = io::cut_lines<FrosttChunk>(source, source.begin());
  io::count_lines(chunks, comment);
  if (progress) progress(0.1);
  const Format coo = parse_format("COO", static_cast<int>(shape.size()));
  check_shape(coo, shape);
  const Lists lists = field == MarketField::real ? parse<MarketField::real>(source, shape, told, chunks, progress)
                      : field == MarketField::integer
                          ? parse<MarketField::integer>(source, shape, told, chunks, progress)
                          : parse<MarketField::unsigned_integer>(source, shape, told, chunks, progress);
  Tensor t = sorted(lists, chunks) ? borrow_lists(lists, shape, coo) : from_coo(lists.coords, lists.values, shape, coo);
  if (progress) progress(1.0);
  return t;
}

Tensor read_frostt(const std::string& path, const FrosttOptions& options, const std::function<void(double)>& progress) {
  if (progress) progress(0.0);
  const Buffer text = io::read_file(path);
  if (progress) progress(0.05);
  return parse_frostt({static_cast<const char*>(text.data), static_cast<std::size_t>(text.size)}, path, options,
                      progress);
}

void write_frostt(const std::string& path, const Tensor& t) {
  if (t.rank() == 0)
    throw FileError({.what = "a FROSTT file has a coordinate in each line",
                     .expected = "a tensor of 1 dimension or more",
                     .got = "a scalar"});
  if (!t.fill().is_zero())
    throw FileError({.what = "a FROSTT file cannot say what absent elements are",
                     .expected = "fill 0",
                     .got = "fill " + t.fill().to_string()});
  if (is_complex(t.dtype()))
    throw FileError({.what = "a FROSTT file holds real numbers",
                     .expected = "a real dtype",
                     .got = std::string(name_of(t.dtype())),
                     .fix = "write another kind of file, as .st or .mtx"});
  const Tensor coo = convert(t, parse_format("COO", t.rank()));
  std::vector<Buffer> coords;
  for (int d = 0; d < t.rank(); ++d) coords.push_back(coo.crd(d));
  std::string head(shape_mark);
  for (const std::int64_t extent : t.shape()) head += " " + std::to_string(extent);
  const DType dtype = coo.dtype();
  const auto* values = static_cast<const char*>(coo.part().values.data);
  const std::int64_t step = coo.part().value_stride * static_cast<std::int64_t>(size_of(dtype));
  const auto line = [&](std::string& out, std::int64_t k) {
    for (const Buffer& c : coords) {
      io::append_integer(out, c.index(k) + 1);
      out += ' ';
    }
    io::append_value(out, dtype, values + k * step);
    out += '\n';
  };
  io::write_file(path, io::lines_of(head + "\n", coo.nse(), line));
}

}  // namespace strata
