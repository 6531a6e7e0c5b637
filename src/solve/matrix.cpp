#include "solve/matrix.h"

#include <algorithm>
#include <string>

#include "convert/convert_elements.h"
#include "execute/dense_view.h"
#include "format/recognise.h"
#include "strata/ops.h"
#include "tensor/row_major.h"

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
  return is_row_major(d) ? d : execution::row_major_copy(d);
}

template <class T> const T* dense_data(const Tensor& t) {
  const Part& part = t.part();
  return static_cast<const T*>(part.values.data) + part.values_offset;
}

/// Sides in memory where their rows, or their columns, lie side by side.
template <class T> execution::DenseView view_of(const Sides<T>& x, const T* memory, bool by_rows) {
  return {.data = reinterpret_cast<char*>(const_cast<T*>(memory)),
          .dtype = dtype_of<T>(),
          .rank = 3,
          .shape = {x.batches, x.rows, x.columns},
          .strides = {x.rows * x.columns, by_rows ? x.columns : 1, by_rows ? 1 : x.rows}};
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
  if (kept->part().value_stride != 1)
    kept = std::make_shared<Tensor>(with_values(*kept, with_own_values(kept->part(), dtype).values));
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
  auto own = std::make_shared<MatrixArrays<T>>();
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
  out.values.resize(static_cast<std::size_t>(batches * out.rows * out.columns));
  assign(view_of(out, out.values.data(), false), view_of(out, dense_data<T>(dense), true));
  return out;
}

template <class T> Tensor tensor_of(const Sides<T>& x, const Shape& shape) {
  Tensor out = empty_dense(dtype_of<T>(), shape);
  assign(view_of(x, dense_data<T>(out), true), view_of(x, x.values.data(), false));
  return out;
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
