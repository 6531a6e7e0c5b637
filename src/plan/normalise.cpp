#include <algorithm>

#include "plan/product.h"

namespace strata::planning {

Einsum normalise(const Einsum& e, std::span<const TensorType> operands) {
  std::vector<Shape> shapes;
  for (const auto& t : operands) shapes.push_back(t.shape);
  const auto extents = index_extents(e, shapes);
  Einsum out = e;
  out.conjugate.resize(operands.size(), 0);
  for (std::size_t k = 0; k < operands.size(); ++k) {
    if (!is_complex(operands[k].dtype)) out.conjugate[k] = 0;
    std::vector<int> fresh(static_cast<std::size_t>(e.num_indices), -1);
    for (std::size_t d = 0; d < shapes[k].size(); ++d) {
      const auto i = static_cast<std::size_t>(e.operands[k][d]);
      if (shapes[k][d] == extents[i]) continue;
      if (fresh[i] < 0) {
        fresh[i] = out.num_indices++;
        out.names.push_back(e.names[i] + "_" + std::to_string(k));
      }
      out.operands[k][d] = fresh[i];
    }
  }
  return out;
}

Einsum canonical(const Einsum& e) {
  Einsum out;
  std::vector<int> label(static_cast<std::size_t>(e.num_indices), -1);
  for (const auto& indices : e.operands) {
    auto& renamed = out.operands.emplace_back();
    for (int i : indices) {
      int& l = label[static_cast<std::size_t>(i)];
      if (l < 0) l = out.num_indices++;
      renamed.push_back(l);
    }
  }
  for (int i : e.output) out.output.push_back(label[static_cast<std::size_t>(i)]);
  out.conjugate = e.conjugate;
  out.conjugate.resize(e.operands.size(), 0);
  return out;
}

namespace {
const Format& dense_format(std::size_t rank) {
  thread_local const std::vector<Format> formats = [] {
    std::vector<Format> all{Format()};
    for (int r = 1; r <= max_dims; ++r) all.push_back(parse_format("dense", r));
    return all;
  }();
  if (rank > static_cast<std::size_t>(max_dims))
    throw ExpressionError({.what = "the result has too many dimensions",
                           .expected = "at most " + std::to_string(max_dims),
                           .got = std::to_string(rank)});
  return formats[rank];
}
}  // namespace

TensorType dense_type(const Shape& shape, DType dtype) {
  TensorType t;
  t.format = dense_format(shape.size());
  t.shape = shape;
  t.dtype = dtype;
  t.fill = Scalar::zero(dtype);
  return t;
}

DType accumulator(DType dtype) {
  switch (dtype) {
    case DType::f16:
    case DType::bf16:
    case DType::f8e4m3:
    case DType::f8e5m2: return DType::f32;
    case DType::boolean: return DType::i64;
    default: return dtype;
  }
}

bool is_plain_dense(const TensorType& t) {
  return t.format.num_parts() == 1 && t.format.is_all_dense() && t.format.is_identity() &&
         t.format.num_batch_levels() == 0;
}

}  // namespace strata::planning
