#include <algorithm>
#include <complex>
#include <type_traits>

#include "io/file.h"
#include "io/market_entries.h"
#include "strata/io.h"
#include "strata/ops.h"

namespace strata {
namespace {

using io::MarketHeader;
using io::MarketSymmetry;

template <class T>
T other_side(T value, MarketSymmetry symmetry) {
  if (symmetry == MarketSymmetry::skew) {
    if constexpr (std::is_same_v<T, std::int64_t>) return static_cast<T>(0 - static_cast<std::uint64_t>(value));
    else return static_cast<T>(-value);
  }
  if constexpr (std::is_same_v<T, std::complex<double>>)
    if (symmetry == MarketSymmetry::hermitian) return std::conj(value);
  return value;
}

/// An array file lists whole columns, or those below the diagonal; the tensor is row-major.
template <class T>
void place_columns(const MarketHeader& h, const T* from, T* to) {
  const std::int64_t m = h.rows, n = h.cols;
  if (h.symmetry == MarketSymmetry::general) {
    constexpr std::int64_t block = 16;  // a block of columns stays in the first-level cache while rows are written
    for (std::int64_t j0 = 0; j0 < n; j0 += block)
      for (std::int64_t i = 0; i < m; ++i)
        for (std::int64_t j = j0; j < std::min(n, j0 + block); ++j) to[i * n + j] = from[j * m + i];
    return;
  }
  const bool skew = h.symmetry == MarketSymmetry::skew;
  for (std::int64_t j = 0; j < n; ++j) {
    if (skew) to[j * n + j] = T{};
    for (std::int64_t i = skew ? j + 1 : j; i < m; ++i, ++from) {
      to[i * n + j] = *from;
      if (i != j) to[j * n + i] = other_side(*from, h.symmetry);
    }
  }
}

void check_hermitian_diagonal(const io::FileText& source, const MarketHeader& h, const Buffer& values) {
  if (h.symmetry != MarketSymmetry::hermitian || h.field != io::MarketField::complex) return;
  const auto* v = static_cast<const std::complex<double>*>(values.data);
  for (std::int64_t j = 0, k = 0; j < h.rows; k += h.rows - j, ++j) {
    if (v[k].imag() == 0) continue;
    const char* p = h.data;  // the k-th line of data, found only now
    for (std::int64_t seen = 0;; p = io::next_line(p, source.end()))
      if (io::has_data(p, source.end()) && seen++ == k) break;
    source.fail(io::skip_blanks(p, source.end()), 1,
                {.what = "the diagonal of a hermitian matrix is real",
                 .expected = "an imaginary part of 0",
                 .got = Scalar::of(v[k].imag()).to_string()});
  }
}

Tensor dense_tensor(const io::FileText& source, const MarketHeader& h, const io::MarketEntries& entries) {
  check_hermitian_diagonal(source, h, entries.values);
  Buffer values = Buffer::allocate(entries.values.dtype, h.rows * h.cols);  // the shape's product was checked
  const auto place = [&]<class T>(T) {
    place_columns(h, static_cast<const T*>(entries.values.data), static_cast<T*>(values.data));
  };
  switch (values.dtype) {
    case DType::i64: place(std::int64_t{}); break;
    case DType::u64: place(std::uint64_t{}); break;
    case DType::c128: place(std::complex<double>{}); break;
    default: place(double{});
  }
  return make_tensor(parse_format("dense", 2), {h.rows, h.cols},
                     {.pos = {}, .crd = {}, .values = values, .strides = {}});
}

Tensor borrow_coordinates(const Format& format, const MarketHeader& h, const io::MarketEntries& entries) {
  Buffer pos = Buffer::allocate(index_dtype_for(entries.values.size), 2);
  pos.set_index(0, 0);
  pos.set_index(1, entries.values.size);
  RawArrays arrays;
  arrays.pos[0] = pos;
  arrays.crd[0] = entries.rows;
  arrays.crd[1] = entries.cols;
  arrays.values = entries.values;
  return make_tensor(format, {h.rows, h.cols}, std::move(arrays), {}, /*check=*/false);
}

Tensor coordinate_tensor(const MarketHeader& h, const io::MarketEntries& entries) {
  const Format coo = parse_format("COO", 2);
  if (entries.sorted) return borrow_coordinates(coo, h, entries);
  const Tensor unsorted = borrow_coordinates(
      parse_format("(i, j) -> (i : compressed(nonunique, unordered), j : singleton(nonunique, unordered))"), h,
      entries);
  // Most files list columns. By way of CSR two passes of buckets sort them; with far more rows than elements that would
  // cost more.
  if (h.rows / 4 > entries.values.size) return convert(unsorted, coo);
  return convert(convert(unsorted, parse_format("CSR")), coo);
}

}  // namespace

Tensor parse_matrix_market(std::string_view text, const std::string& name,
                           const std::function<void(double)>& progress) {
  const io::FileText source{text, name};
  const MarketHeader header = io::parse_market_header(source);
  const io::MarketEntries entries = io::parse_market_entries(source, header, progress);
  Tensor t = header.coordinate ? coordinate_tensor(header, entries) : dense_tensor(source, header, entries);
  if (progress) progress(1.0);
  return t;
}

Tensor read_matrix_market(const std::string& path, const std::function<void(double)>& progress) {
  if (progress) progress(0.0);
  const Buffer text = io::read_file(path);
  if (progress) progress(0.05);
  return parse_matrix_market({static_cast<const char*>(text.data), static_cast<std::size_t>(text.size)}, path,
                             progress);
}

}  // namespace strata
