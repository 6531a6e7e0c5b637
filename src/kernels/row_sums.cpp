// The sums of the rows of a CSR matrix: what normalises a softmax, degrees of a graph.
#include <algorithm>

#include "format/recognise.h"
#include "kernels/builtin.h"
#include "kernels/match.h"

namespace strata::kernels {

namespace {

bool accepts_row_sums(const Query& q, std::string& why) {
  const auto refuse = [&](const char* reason) {
    why = reason;
    return false;
  };
  if (!loops().f64.i32_i32.row_sums) return refuse("generated code is faster without AVX-512");
  if (q.operands.size() != 1) return refuse("not a sum over one operand");
  const TensorType &a = q.operands[0], &y = q.output;
  const auto& index = q.einsum.operands[0];
  const auto d = a.format.num_parts() == 1 ? rows_of(a.format, LevelKind::compressed) : std::nullopt;
  if (!d) return refuse("the format is not (row : dense, column : compressed)");
  const int row = index[static_cast<std::size_t>(d->outer)], column = index[static_cast<std::size_t>(d->inner)];
  if (row == column || q.einsum.output != std::vector<int>{row}) return refuse("not a sum along rows");
  if (a.dtype != DType::f32 && a.dtype != DType::f64) return refuse("values are neither float64 nor float32");
  if (y.dtype != a.dtype || q.compute != a.dtype) return refuse("dtypes differ");
  if (a.shared_value) return refuse("all values share one slot");
  if (!a.fill.is_zero()) return refuse("the fill is not 0");
  if (!y.format.is_identity() || y.format.num_parts() != 1 ||
      !(y.strides.empty() || y.strides[0] == TensorType::Stride::unit))
    return refuse("the result has no unit stride");
  if (a.shape[static_cast<std::size_t>(d->outer)] != y.shape[0]) return refuse("an extent is broadcast");
  return known_indices(a, why);
}

void run_row_sums(const Query&, std::span<const Tensor> operands, const Tensor& out, const Scalar& alpha,
                  const Scalar& beta) {
  const Part& part = operands[0].part();
  const i64 rows = out.shape()[0];
  const auto run = [&]<class V, class P>(void (*loop)(i64, i64, const P*, const V*, const Dense<V>&)) {
    const P* pos = static_cast<const P*>(part.levels[1].pos.data);
    const V* values = static_cast<const V*>(part.values.data);
    const Dense<V> d{.x = nullptr,
                     .ldx = 1,
                     .out = reinterpret_cast<V*>(first_element(out)),
                     .ldo = 1,
                     .columns = 1,
                     .alpha = static_cast<V>(alpha.to_double()),
                     .beta = static_cast<V>(beta.to_double()),
                     .stream = false};
    for_balanced_rows(rows, pos, 1, [&](i64 begin, i64 end) { loop(begin, end, pos, values, d); });
  };
  const bool narrow = operands[0].type().pos_dtype == DType::i32;
  if (operands[0].dtype() == DType::f64) narrow ? run(loops().f64.i32_i32.row_sums) : run(loops().f64.i64_i64.row_sums);
  else narrow ? run(loops().f32.i32_i32.row_sums) : run(loops().f32.i64_i64.row_sums);
}

}  // namespace

const BuiltinKernel row_sums_kernel{
    .name = "csr_row_sums", .accepts = accepts_row_sums, .run = run_row_sums, .keeps_digits = true};

}  // namespace strata::kernels
