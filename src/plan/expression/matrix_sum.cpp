// Sums of CSR matrices, by hand-written loops.
#include "plan/expression/matrix_sum.h"

#include "expr/chain.h"
#include "format/recognise.h"
#include "kernels/csr_add.h"
#include "plan/expression/ways.h"
#include "plan/nest/unit.h"

namespace strata::evaluation {
namespace {

/// The terms from left to right: what stands on the right of an operator is one access.
bool collect(const Expression& e, const std::vector<std::string>& indices, bool minus, MatrixSum& out) {
  if (e.op() == Operator::access) {
    out.terms.push_back(e.node().name);
    out.minus.push_back(minus);
    return plain_indices(e) == indices;
  }
  if (minus || (e.op() != Operator::add && e.op() != Operator::subtract) || e.argument(1).op() != Operator::access)
    return false;
  return collect(e.argument(0), indices, false, out) &&
         collect(e.argument(1), indices, e.op() == Operator::subtract, out);
}

}  // namespace

std::optional<MatrixSum> as_matrix_sum(const Assignment& a, const Operands& operands, const Asked& options,
                                       std::string& why) {
  const auto no = [&](const char* reason) {
    why = reason;
    return std::nullopt;
  };
  if (const char* reason = hand_written_refusal(a, options)) return no(reason);
  MatrixSum sum;
  if (a.indices.size() != 2 || a.indices[0] == a.indices[1] || !collect(a.value, a.indices, false, sum) ||
      sum.terms.size() < 2)
    return no("it is not a sum of matrices under the same indices");
  const TensorType& first = operands.at(sum.terms[0]).type();
  const auto rows = first.format.num_parts() == 1 ? rows_of(first.format, LevelKind::compressed) : std::nullopt;
  if (!rows || !first.format.level(1).unique || !first.format.level(1).ordered) return no("they are not CSR");
  if (!(wanted_format(a, operands, options) == first.format)) return no("the result has another format");
  bool one_pattern = true;
  for (const auto& name : sum.terms) {
    one_pattern = one_pattern && (name == sum.terms[0] || operands.at(name).is_twin_of(operands.at(sum.terms[0])));
    const TensorType& t = operands.at(name).type();
    if (!(t.format == first.format) || t.shape != first.shape) return no("their formats or shapes differ");
    if ((t.dtype != DType::f32 && t.dtype != DType::f64) || t.dtype != first.dtype)
      return no("their dtypes differ, or are neither float32 nor float64");
    if (t.shared_value || !t.fill.is_zero()) return no("values are shared, or the fill is not 0");
    if (t.pos_dtype != first.pos_dtype || t.crd_dtype != DType::i32)
      return no("positions differ, or coordinates are not int32");
    if (t.pos_dtype != DType::i32 && t.pos_dtype != DType::i64) return no("positions are neither int32 nor int64");
  }
  if (one_pattern) return no("they share one pattern: a loop over its slots is faster");
  if (options.result_dtype && *options.result_dtype != first.dtype) return no("the result has another dtype");
  if (first.shape[static_cast<std::size_t>(rows->inner)] > INT32_MAX) return no("an extent is above 2^31 - 1");
  if (!kernels::can_csr_add(first)) return no("the processor lacks AVX2");
  return sum;
}

std::optional<Lazy> matrix_sum(const Assignment& a, const Operands& operands, const Asked& options,
                               const std::function<Lazy()>& otherwise, std::string& why) {
  const auto sum = as_matrix_sum(a, operands, options, why);
  if (!sum) return std::nullopt;
  Lazy::Step step{.inputs = {},
                  .make = [minus = sum->minus](Lazy::Inputs& in) -> std::optional<Tensor> {
                    std::int64_t stored = 0;
                    std::vector<const Tensor*> terms;
                    for (const Tensor& t : in) {
                      if (t.part().value_stride != 1) return std::nullopt;
                      stored += t.nse();
                      terms.push_back(&t);
                    }
                    if (in[0].type().pos_dtype == DType::i32 && stored > INT32_MAX) return std::nullopt;
                    return kernels::csr_add(std::move(terms), minus);
                  },
                  .otherwise = otherwise,
                  .code = [text = a.to_string()] { return std::pair("hand-written: a sum of matrices", text + "\n"); }};
  double stored = 0;
  for (const auto& name : sum->terms) {
    step.inputs.push_back(operands.at(name));
    stored += operands.at(name).stats().stored;
  }
  step.work = stored;
  const TensorType type = step.inputs[0].type();
  return Lazy::made(type, planning::stats_for(type, stored), std::move(step));
}

}  // namespace strata::evaluation
