#include "solve/matrix.h"

#include <algorithm>
#include <cstring>
#include <string>

#include "backend/steps.h"
#include "format/recognise.h"
#include "ops/convert_elements.h"
#include "strata/ops.h"

namespace strata::solving {
namespace {

/// (d0, d1, ..) -> (d0: dense, ..., last: dense, last but one: compressed): the columns of all matrices of a batch.
Format columns_format(int rank) {
  std::string dims, levels;
  for (int d = 0; d < rank; ++d) {
    dims += (d ? ", d" : "d") + std::to_string(d);
    if (d + 2 < rank) levels += "d" + std::to_string(d) + ": dense, ";
  }
  levels += "d" + std::to_string(rank - 1) + ": dense, d" + std::to_string(rank - 2) + ": compressed";
  return parse_format("(" + dims + ") -> (" + levels + ")");
}

/// A dense row-major copy, or the tensor's own memory where it is that already.
Tensor plain_dense(const Tensor& a, DType dtype) {
  Tensor d = a;
  if (!a.format().is_all_dense() || a.num_parts() != 1 || a.dtype() != dtype)
    d = convert(a, conversion::dense_format(a.rank()), {.dtype = dtype, .zeros = Zeros::keep});
  const Part& part = d.part();
  std::int64_t expected = 1;
  bool plain = true;
  for (int l = d.rank(); l-- > 0;) {
    const auto at = static_cast<std::size_t>(l);
    if (plain_dim(d.format(), l) != l || (part.ranges[at].size > 1 && part.strides[at] != expected)) plain = false;
    expected *= part.ranges[at].size;
  }
  if (plain) return d;
  // Strides of any kind: element by element, in row-major order.
  const auto rank = static_cast<std::size_t>(d.rank());
  std::vector<std::int64_t> strides(rank, 0), at(rank, 0);
  for (int l = 0; l < d.rank(); ++l)
    strides[static_cast<std::size_t>(plain_dim(d.format(), l))] = part.strides[static_cast<std::size_t>(l)];
  std::int64_t size = 1;
  for (const auto e : d.shape()) size *= e;
  Buffer out = Buffer::allocate(dtype, size);
  const std::size_t width = size_of(dtype);
  const char* from = static_cast<const char*>(part.values.data);
  std::int64_t offset = part.values_offset;
  for (std::int64_t k = 0; k < size; ++k) {
    poll_at(k);
    std::memcpy(static_cast<char*>(out.data) + static_cast<std::size_t>(k) * width,
                from + offset * static_cast<std::int64_t>(width), width);
    for (std::size_t dim = rank; dim-- > 0;) {
      offset += strides[dim];
      if (++at[dim] < d.shape()[dim]) break;
      offset -= strides[dim] * d.shape()[dim];
      at[dim] = 0;
    }
  }
  std::vector<std::int64_t> plain_strides(rank, 1);
  for (std::size_t dim = rank; dim-- > 1;)
    plain_strides[dim - 1] = plain_strides[dim] * std::max<std::int64_t>(d.shape()[dim], 1);
  return borrow_dense(out, d.shape(), plain_strides);
}

template <class T> const T* dense_data(const Tensor& t) {
  const Part& part = t.part();
  return static_cast<const T*>(part.values.data) + part.values_offset;
}

}  // namespace

template <class T> std::vector<Matrix<T>> matrices_of(const Tensor& a) {
  const int rank = a.rank();
  if (rank < 2)
    throw TensorError(
        {.what = "a system has a matrix", .expected = "two dimensions or more", .got = a.type().to_string()});
  const std::int64_t rows = a.shape()[static_cast<std::size_t>(rank - 2)],
                     columns = a.shape()[static_cast<std::size_t>(rank - 1)];
  std::int64_t batches = 1;
  for (int d = 0; d + 2 < rank; ++d) batches *= a.shape()[static_cast<std::size_t>(d)];
  std::vector<Matrix<T>> all(static_cast<std::size_t>(batches));
  const DType dtype = dtype_of<T>();
  if (!a.fill().is_zero() || a.format().is_all_dense()) {
    auto dense = std::make_shared<Tensor>(plain_dense(a, dtype));
    for (std::int64_t k = 0; k < batches; ++k)
      all[static_cast<std::size_t>(k)] = {rows, columns, nullptr, nullptr, dense_data<T>(*dense) + k * rows * columns,
                                          dense};
    return all;
  }
  if (rows > INT32_MAX || columns > INT32_MAX || a.nse() > INT32_MAX)
    throw Unsupported({.what = "factorizations have indices of 32 bits",
                       .expected = "at most 2147483647 rows and stored elements",
                       .got = a.type().to_string() + ", " + std::to_string(a.nse()) + " stored",
                       .fix = "iterate: cg, gmres, lsqr"});
  auto kept = std::make_shared<Tensor>(
      convert(a, columns_format(rank), {.dtype = dtype, .pos_dtype = DType::i32, .crd_dtype = DType::i32}));
  const Part& part = kept->part();
  if (part.value_stride != 1) {
    const auto width = static_cast<std::int64_t>(sizeof(T));
    Buffer values = Buffer::allocate(dtype, part.levels.back().crd.size);
    for (std::int64_t p = 0; p < values.size; ++p)
      std::memcpy(static_cast<char*>(values.data) + p * width,
                  static_cast<const char*>(part.values.data) + p * part.value_stride * width, sizeof(T));
    kept = std::make_shared<Tensor>(with_values(*kept, values));
  }
  const Part& done = kept->part();
  const auto* pos = static_cast<const std::int32_t*>(done.levels.back().pos.data);
  const auto* crd = static_cast<const std::int32_t*>(done.levels.back().crd.data);
  const auto* values = static_cast<const T*>(done.values.data);
  for (std::int64_t k = 0; k < batches; ++k) {
    Matrix<T>& m = all[static_cast<std::size_t>(k)];
    m = {rows, columns, pos + k * columns, crd, values, kept};
    const std::int32_t first = m.pos[0];
    if (first == 0) continue;
    struct Rebased {
      std::vector<std::int32_t> pos;
      std::shared_ptr<Tensor> rest;
    };
    auto own = std::make_shared<Rebased>();
    own->rest = kept;
    own->pos.assign(m.pos, m.pos + columns + 1);
    for (auto& p : own->pos) p -= first;
    m.pos = own->pos.data(), m.crd = crd + first, m.values = values + first, m.owner = own;
  }
  return all;
}

template <class T> Matrix<T> adjoint_of(const Matrix<T>& a) {
  struct Arrays {
    std::vector<std::int32_t> pos, crd;
    std::vector<T> values;
  };
  auto own = std::make_shared<Arrays>();
  own->values.resize(static_cast<std::size_t>(a.stored()));
  Matrix<T> out{a.columns, a.rows, nullptr, nullptr, own->values.data(), own};
  if (a.is_dense()) {
    for_each(a, [&](std::int64_t i, std::int64_t j, T v) {
      own->values[static_cast<std::size_t>(j * a.rows + i)] = conjugate(v);
    });
    return out;
  }
  own->pos.assign(static_cast<std::size_t>(a.rows + 1), 0);
  own->crd.resize(own->values.size());
  for_each(a, [&](std::int64_t i, std::int64_t, T) { ++own->pos[static_cast<std::size_t>(i + 1)]; });
  for (std::size_t i = 1; i < own->pos.size(); ++i) own->pos[i] += own->pos[i - 1];
  std::vector<std::int32_t> next(own->pos.begin(), own->pos.end() - 1);
  for_each(a, [&](std::int64_t i, std::int64_t j, T v) {
    const auto p = static_cast<std::size_t>(next[static_cast<std::size_t>(i)]++);
    own->crd[p] = static_cast<std::int32_t>(j), own->values[p] = conjugate(v);
  });
  out.pos = own->pos.data(), out.crd = own->crd.data();
  return out;
}

template <class T> bool same_places(const Matrix<T>& a, const Matrix<T>& b) {
  if (a.rows != b.rows || a.columns != b.columns || a.is_dense() != b.is_dense()) return false;
  if (a.is_dense() || (a.pos == b.pos && a.crd == b.crd)) return true;
  return std::equal(a.pos, a.pos + a.columns + 1, b.pos) && std::equal(a.crd, a.crd + a.stored(), b.crd);
}

template <class T>
Tensor csc_tensor(std::int64_t rows, std::int64_t columns, std::vector<std::int32_t> pos, std::vector<std::int32_t> crd,
                  std::vector<T> values) {
  RawArrays raw;
  raw.pos[1] = Buffer::own(std::move(pos));
  raw.crd[1] = Buffer::own(std::move(crd));
  raw.values = Buffer::own(std::move(values));
  return make_tensor(parse_format("CSC"), {rows, columns}, std::move(raw), {}, false);
}

template <class T> Sides<T> sides_of(const Tensor& b, std::int64_t batches, bool vector) {
  Sides<T> out;
  out.batches = batches;
  const auto rank = static_cast<std::size_t>(b.rank());
  out.rows = b.shape()[vector ? rank - 1 : rank - 2];
  out.columns = vector ? 1 : b.shape()[rank - 1];
  const Tensor dense = plain_dense(b, dtype_of<T>());
  const T* from = dense_data<T>(dense);
  const std::int64_t size = batches * out.rows * out.columns;
  if (out.columns == 1) {
    out.values.assign(from, from + size);
    return out;
  }
  out.values.resize(static_cast<std::size_t>(size));
  for (std::int64_t k = 0; k < batches; ++k)
    for (std::int64_t i = 0; i < out.rows; ++i)
      for (std::int64_t c = 0; c < out.columns; ++c) out.column(k, c)[i] = from[(k * out.rows + i) * out.columns + c];
  return out;
}

template <class T> Tensor tensor_of(const Sides<T>& x, const Shape& shape) {
  Buffer out = Buffer::allocate(dtype_of<T>(), static_cast<std::int64_t>(x.values.size()));
  T* to = static_cast<T*>(out.data);
  if (x.columns == 1) std::copy(x.values.begin(), x.values.end(), to);
  else
    for (std::int64_t k = 0; k < x.batches; ++k)
      for (std::int64_t c = 0; c < x.columns; ++c) {
        const T* from = x.values.data() + (k * x.columns + c) * x.rows;
        for (std::int64_t i = 0; i < x.rows; ++i) to[(k * x.rows + i) * x.columns + c] = from[i];
      }
  std::vector<std::int64_t> strides(shape.size(), 1);
  for (std::size_t d = shape.size(); d-- > 1;) strides[d - 1] = strides[d] * std::max<std::int64_t>(shape[d], 1);
  return borrow_dense(out, shape, strides);
}

#define STRATA_MATRICES(T)                                                                                        \
  template std::vector<Matrix<T>> matrices_of<T>(const Tensor&);                                                  \
  template Matrix<T> adjoint_of<T>(const Matrix<T>&);                                                             \
  template bool same_places<T>(const Matrix<T>&, const Matrix<T>&);                                               \
  template Tensor csc_tensor<T>(std::int64_t, std::int64_t, std::vector<std::int32_t>, std::vector<std::int32_t>, \
                                std::vector<T>);                                                                  \
  template Sides<T> sides_of<T>(const Tensor&, std::int64_t, bool);                                               \
  template Tensor tensor_of<T>(const Sides<T>&, const Shape&);
STRATA_MATRICES(float)
STRATA_MATRICES(double)
STRATA_MATRICES(std::complex<float>)
STRATA_MATRICES(std::complex<double>)
#undef STRATA_MATRICES

}  // namespace strata::solving
