#include "io/file.h"
#include "io/number_text.h"
#include "strata/io.h"
#include "strata/ops.h"

namespace strata {
namespace {

const char* field_of(DType dtype) {
  if (is_complex(dtype)) return "complex";
  if (is_float(dtype)) return "real";
  return dtype == DType::u64 ? "unsigned-integer" : "integer";
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
      io::append_value(out, dtype, values + static_cast<std::size_t>(k % m * n + k / m) * width);
      out += '\n';
    };
    io::write_file(path, io::lines_of(head + "array " + field_of(dtype) + " general\n" + shape + "\n", m * n, line));
    return;
  }
  const Tensor coo = convert(t, parse_format("COO", 2));
  const Buffer rows = coo.crd(0), cols = coo.crd(1);
  const auto* values = static_cast<const char*>(coo.part().values.data);
  const std::int64_t stride = coo.part().value_stride;
  const auto line = [&, stride](std::string& out, std::int64_t k) {
    io::append_integer(out, rows.index(k) + 1);
    out += ' ';
    io::append_integer(out, cols.index(k) + 1);
    out += ' ';
    io::append_value(out, dtype, values + static_cast<std::size_t>(k * stride) * width);
    out += '\n';
  };
  io::write_file(path, io::lines_of(head + "coordinate " + field_of(dtype) + " general\n" + shape + " " +
                                        std::to_string(coo.nse()) + "\n",
                                    coo.nse(), line));
}

}  // namespace strata
