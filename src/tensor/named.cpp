// Tensors of the best-known formats, of arrays as they come.
#include "tensor/tensor_impl.h"

namespace strata {
namespace {

Tensor compressed_rows(const Format& format, const Shape& shape, Array pos, Array crd, Array values) {
  RawArrays arrays;
  arrays.pos[1] = std::move(pos.buffer);
  arrays.crd[1] = std::move(crd.buffer);
  arrays.values = std::move(values.buffer);
  return make_tensor(format, shape, std::move(arrays));
}

}  // namespace

Tensor Tensor::csr(std::int64_t rows, std::int64_t columns, Array pos, Array crd, Array values) {
  return compressed_rows(parse_format("CSR"), {rows, columns}, std::move(pos), std::move(crd), std::move(values));
}

Tensor Tensor::csc(std::int64_t rows, std::int64_t columns, Array pos, Array crd, Array values) {
  return compressed_rows(parse_format("CSC"), {rows, columns}, std::move(pos), std::move(crd), std::move(values));
}

Tensor Tensor::bsr(std::int64_t rows, std::int64_t columns, std::int64_t block_rows, std::int64_t block_columns,
                   Array pos, Array crd, Array values) {
  const std::string text = "BSR(" + std::to_string(block_rows) + ", " + std::to_string(block_columns) + ")";
  return compressed_rows(parse_format(text), {rows, columns}, std::move(pos), std::move(crd), std::move(values));
}

Tensor Tensor::coo(const Shape& shape, std::vector<Array> coords, Array values) {
  if (coords.size() != shape.size() || coords.empty())
    throw TensorError({.what = "one list of coordinates per dimension is needed",
                       .expected = std::to_string(shape.size()),
                       .got = std::to_string(coords.size())});
  RawArrays arrays;
  const std::int64_t stored = values.buffer.size;
  for (std::size_t d = 0; d < coords.size(); ++d) {
    if (coords[d].buffer.size != stored)
      throw TensorError({.what = "coordinates of dimension " + std::to_string(d) + " and values differ in length",
                         .expected = std::to_string(stored),
                         .got = std::to_string(coords[d].buffer.size)});
    arrays.crd[static_cast<int>(d)] = std::move(coords[d].buffer);
  }
  arrays.pos[0] = Buffer::zeros(index_dtype_for(stored), 2);
  arrays.pos[0].set_index(1, stored);
  arrays.values = std::move(values.buffer);
  return make_tensor(parse_format("COO", static_cast<int>(shape.size())), shape, std::move(arrays));
}

Tensor Tensor::dense(const Shape& shape, Array values) {
  RawArrays arrays;
  arrays.values = std::move(values.buffer);
  std::int64_t size = 1;
  for (const auto extent : shape) {
    const auto product = checked_mul(size, extent);
    if (!product) throw TensorError({.what = "a dense tensor of more elements than 64 bits count"});
    size = *product;
  }
  if (arrays.values.size != size)
    throw TensorError({.what = "a dense tensor needs a value for each element",
                       .expected = std::to_string(size),
                       .got = std::to_string(arrays.values.size)});
  return make_tensor(parse_format("dense", static_cast<int>(shape.size())), shape, std::move(arrays));
}

}  // namespace strata
