#include <charconv>
#include <cstring>
#include <vector>

#include "backend/pool.h"
#include "io/file.h"
#include "strata/io.h"
#include "strata/ops.h"

namespace strata {
namespace {

void append_integer(std::string& out, auto value) {
  char digits[24];
  out.append(digits, std::to_chars(digits, digits + sizeof digits, value).ptr);
}

/// The shortest text that reads back to the same bits. NaN other than the usual one keeps its payload in parentheses,
/// which C's grammar of numbers allows and other readers ignore.
void append_real(std::string& out, double value) {
  char digits[40];
  if (value == value) {
    out.append(digits, std::to_chars(digits, digits + sizeof digits, value).ptr);
    return;
  }
  std::uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof bits);
  const std::uint64_t payload = bits & 0x000fffffffffffff;
  out += bits >> 63 ? "-nan" : "nan";
  if (payload == 0x0008000000000000) return;
  out += "(0x";
  out.append(digits, std::to_chars(digits, digits + sizeof digits, payload, 16).ptr);
  out += ')';
}

void append_value(std::string& out, DType dtype, const void* address) {
  switch (dtype) {
    case DType::f64: {
      double v = 0;
      std::memcpy(&v, address, sizeof v);
      return append_real(out, v);
    }
    case DType::u64: return append_integer(out, *static_cast<const std::uint64_t*>(address));
    case DType::c64:
    case DType::c128: {
      double parts[2];
      const Scalar s = Scalar::load(dtype, address).as(DType::c128);
      std::memcpy(parts, s.bits, sizeof parts);
      append_real(out, parts[0]);
      out += ' ';
      return append_real(out, parts[1]);
    }
    case DType::boolean: out += *static_cast<const bool*>(address) ? '1' : '0'; return;
    default:
      // Smaller floats are written as the doubles they equal: the shortest text of a float is another double.
      if (is_float(dtype)) return append_real(out, Scalar::load(dtype, address).to_double());
      return append_integer(out, Scalar::load(dtype, address).to_int64());
  }
}

const char* field_of(DType dtype) {
  if (is_complex(dtype)) return "complex";
  if (is_float(dtype)) return "real";
  return dtype == DType::u64 ? "unsigned-integer" : "integer";
}

/// Lines [0, count) as text, formatted in parallel, handed out in pieces of some megabytes.
template <class Line>
std::function<std::string()> lines_of(std::string header, std::int64_t count, Line line) {
  return [=, header = std::move(header), next = std::int64_t{-1}]() mutable -> std::string {
    if (next < 0) {
      next = 0;
      return header;
    }
    constexpr std::int64_t per_chunk = 1 << 14, chunks = 32;
    std::vector<std::string> texts(chunks);
    const std::int64_t first = next;
    parallel_for(chunks, [&](std::int64_t c) {
      const std::int64_t begin = std::min(count, first + c * per_chunk), end = std::min(count, begin + per_chunk);
      for (std::int64_t k = begin; k < end; ++k) line(texts[static_cast<std::size_t>(c)], k);
    });
    next = std::min(count, first + chunks * per_chunk);
    std::string all;
    for (const std::string& text : texts) all += text;
    return all;
  };
}

}  // namespace

void write_matrix_market(const std::string& path, const Tensor& t) {
  if (t.rank() != 2)
    throw FileError({.what = "a Matrix Market file holds a matrix",
                     .expected = "a tensor of 2 dimensions",
                     .got = std::to_string(t.rank()) + " dimensions"});
  if (!t.fill().is_zero())
    throw FileError({.what = "a Matrix Market file cannot say what absent elements are",
                     .expected = "fill 0",
                     .got = "fill " + t.fill().to_string()});
  const DType dtype = t.dtype();
  const std::size_t width = size_of(dtype);
  const std::string shape = std::to_string(t.shape()[0]) + " " + std::to_string(t.shape()[1]);
  const std::string head = "%%MatrixMarket matrix ";
  if (t.format().is_all_dense()) {
    const Tensor dense = to_dense(t);
    const auto* values = static_cast<const char*>(dense.part().values.data);
    const std::int64_t m = t.shape()[0], n = t.shape()[1];
    const auto line = [=](std::string& out, std::int64_t k) {
      append_value(out, dtype, values + static_cast<std::size_t>(k % m * n + k / m) * width);
      out += '\n';
    };
    io::write_file(path, lines_of(head + "array " + field_of(dtype) + " general\n" + shape + "\n", m * n, line));
    return;
  }
  const Tensor coo = convert(t, parse_format("COO", 2));
  const Buffer rows = coo.crd(0), cols = coo.crd(1);
  const auto* values = static_cast<const char*>(coo.part().values.data);
  const std::int64_t stride = coo.part().value_stride;
  const auto line = [&, stride](std::string& out, std::int64_t k) {
    append_integer(out, rows.index(k) + 1);
    out += ' ';
    append_integer(out, cols.index(k) + 1);
    out += ' ';
    append_value(out, dtype, values + static_cast<std::size_t>(k * stride) * width);
    out += '\n';
  };
  io::write_file(path, lines_of(head + "coordinate " + field_of(dtype) + " general\n" + shape + " " +
                                    std::to_string(coo.nse()) + "\n",
                                coo.nse(), line));
}

}  // namespace strata
