#include "kernels/match.h"

#include <algorithm>

namespace strata::kernels {

namespace {

/// Is the dimension's stride 1 by the type alone?
bool unit_stride(const TensorType& t, int dim) {
  const auto levels = t.format.levels();
  for (std::size_t l = 0; l < levels.size(); ++l)
    if (t.format.spec().exprs[static_cast<std::size_t>(levels[l].expr)].a == dim)
      return t.strides.empty() ? l + 1 == levels.size() : t.strides[l] == TensorType::Stride::unit;
  return false;
}

bool plain_dense(const TensorType& t) {
  return t.format.num_parts() == 1 && t.format.is_all_dense() && t.format.is_identity() &&
         t.format.num_batch_levels() == 0;
}

}  // namespace

std::optional<MatrixProduct> match_matrix_product(const Query& q, std::string& why, bool complex_too) {
  const auto refuse = [&](const char* reason) {
    why = reason;
    return std::nullopt;
  };
  if (q.operands.size() != 2) return refuse("not a product of two operands");
  MatrixProduct m;
  m.sparse = q.operands[0].format.is_all_dense() ? 1 : 0;
  m.dense = 1 - m.sparse;
  const TensorType &a = q.operands[static_cast<std::size_t>(m.sparse)],
                   &x = q.operands[static_cast<std::size_t>(m.dense)], &y = q.output;
  if (a.shape.size() != 2 || a.format.num_parts() != 1) return refuse("the sparse operand is no single-part matrix");
  if (!plain_dense(x) || !plain_dense(y)) return refuse("the other operand or the result is not plainly dense");
  if (a.dtype != DType::f64 && a.dtype != DType::f32) {
    if (!complex_too) return refuse("values are neither float64 nor float32");
    if (!is_complex(a.dtype)) return refuse("values are neither float32, float64 nor complex");
    for (const bool conjugated : q.einsum.conjugate)
      if (conjugated) return refuse("an operand is conjugated");
  }
  if (x.dtype != a.dtype || y.dtype != a.dtype || q.compute != a.dtype) return refuse("dtypes differ");
  if (a.shared_value) return refuse("all values share one slot");
  if (!a.fill.is_zero()) return refuse("the fill is not 0");
  const auto& ia = q.einsum.operands[static_cast<std::size_t>(m.sparse)];
  const auto& ix = q.einsum.operands[static_cast<std::size_t>(m.dense)];
  const auto& iy = q.einsum.output;
  if (ix.empty() || ix.size() > 2 || iy.size() != ix.size() || ia[0] == ia[1] || (ix.size() == 2 && ix[0] == ix[1]))
    return refuse("not a matrix product");
  const auto find = [](const std::vector<int>& v, int i) {
    return static_cast<int>(std::find(v.begin(), v.end(), i) - v.begin());
  };
  const auto has = [&](const std::vector<int>& v, int i) { return find(v, i) < static_cast<int>(v.size()); };
  m.inner_dim = has(ix, ia[1]) ? 1 : 0;
  m.row_dim = 1 - m.inner_dim;
  const int row = ia[static_cast<std::size_t>(m.row_dim)], inner = ia[static_cast<std::size_t>(m.inner_dim)];
  if (!has(ix, inner) || has(ix, row) || !has(iy, row) || has(iy, inner)) return refuse("not a matrix product");
  m.dense_inner = find(ix, inner);
  m.out_row = find(iy, row);
  if (ix.size() == 2) {
    m.dense_free = 1 - m.dense_inner;
    m.out_free = 1 - m.out_row;
    if (ix[static_cast<std::size_t>(m.dense_free)] != iy[static_cast<std::size_t>(m.out_free)])
      return refuse("not a matrix product");
    if (!unit_stride(x, m.dense_free) || !unit_stride(y, m.out_free))
      return refuse("columns of the dense operand or the result have no unit stride");
  } else if (!unit_stride(x, 0) || !unit_stride(y, 0)) {
    return refuse("the vector or the result has no unit stride");
  }
  if (a.shape[static_cast<std::size_t>(m.inner_dim)] != x.shape[static_cast<std::size_t>(m.dense_inner)] ||
      a.shape[static_cast<std::size_t>(m.row_dim)] != y.shape[static_cast<std::size_t>(m.out_row)] ||
      (m.out_free >= 0 &&
       x.shape[static_cast<std::size_t>(m.dense_free)] != y.shape[static_cast<std::size_t>(m.out_free)]))
    return refuse("an extent is broadcast");
  return m;
}

bool known_indices(const TensorType& t, std::string& why) {
  const bool known = (t.pos_dtype == DType::i32 && (t.crd_dtype == DType::i32 || t.crd_dtype == DType::u16)) ||
                     (t.pos_dtype == DType::i64 && (t.crd_dtype == DType::i64 || t.crd_dtype == DType::i32));
  if (!known) why = "index types other than int32/int32, int32/uint16, int64/int64, int64/int32";
  return known;
}

i64 dim_stride(const Tensor& t, int dim) {
  const Part& p = t.part();
  for (int l = 0; l < p.format.num_levels(); ++l)
    if (p.format.spec().exprs[static_cast<std::size_t>(p.format.level(l).expr)].a == dim)
      return p.strides[static_cast<std::size_t>(l)];
  throw InternalError("dim_stride: no such dimension");
}

char* first_element(const Tensor& t) {
  const Part& p = t.part();
  return static_cast<char*>(p.values.data) + p.values_offset * static_cast<i64>(size_of(t.dtype()));
}

}  // namespace strata::kernels
