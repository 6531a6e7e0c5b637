// Products that a plan serves, and writing into memory that a caller gives.
#include <algorithm>

#include "base/checked.h"
#include "base/tuple_text.h"
#include "ops/convert_elements.h"
#include "ops/evaluate/front.h"
#include "plan/product.h"
#include "plan/trace.h"
#include "strata/ops.h"

namespace strata::evaluation {
namespace {

constexpr std::int64_t long_sum = 1 << 16;  ///< elements; what shorter ones lose nobody sees

bool is_one(const Scalar& s) { return s.to_complex() == std::complex<double>(1); }

int kind(DType t) { return t == DType::boolean ? 0 : is_integer(t) ? 1 : is_float(t) ? 2 : 3; }

/// A tensor like this one, in memory of its own.
Tensor empty_dense(const TensorType& type) {
  std::vector<std::int64_t> strides(type.shape.size());
  std::int64_t step = 1, size = 1;
  for (std::size_t d = strides.size(); d-- > 0;) {
    strides[d] = step;
    step *= std::max<std::int64_t>(type.shape[d], 1);  // make_plan has checked the product
    size *= type.shape[d];
  }
  return borrow_dense(Buffer::allocate(type.dtype, size), type.shape, strides);
}

/// Why no plan serves; empty where one may.
std::string refusal(const Einsum& e, std::span<const TensorType> operands, const EvaluateOptions& options,
                    const Format& result) {
  if (options.general) return "the general path is asked for";
  if (options.semiring != Semiring::plus_times) return "the semiring is " + options.semiring.to_string();
  if (options.mask) return "there is a mask";
  if (options.schedule) return "there is a schedule";
  const auto sparse =
      std::count_if(operands.begin(), operands.end(), [](const auto& t) { return !t.format.is_all_dense(); });
  if (sparse > 1) return std::to_string(sparse) + " operands are sparse";
  if (e.operands.size() == 1 && e.output.empty() && operands[0].dtype == DType::f64 &&
      checked_product(operands[0].shape).value_or(long_sum) >= long_sum)
    return "it is a long sum: loops that keep its digits serve";
  if (!(result == conversion::dense_format(static_cast<int>(e.output.size()))))
    return "the result is in " + result.to_string();
  return {};
}

PlanOptions plan_options(std::span<const TensorType> operands, const EvaluateOptions& options, const Destination& to) {
  PlanOptions how{.compute_dtype = options.compute_dtype, .output_dtype = options.result_dtype};
  if (!to.out && !options.result_dtype) return how;
  DType product = operands.empty() ? DType::f64 : operands[0].dtype;
  for (const auto& t : operands) product = promote(product, t.dtype);
  if (options.result_dtype && !how.compute_dtype) how.compute_dtype = planning::accumulator(product);
  if (to.out) {  // its dtype decides what is computed in, unless one was asked for
    check_kind(options.result_dtype.value_or(product), to.out->dtype());
    how.output_dtype = to.out->dtype();
  }
  return how;
}

}  // namespace

bool Destination::scales() const { return !is_one(alpha) || !beta.is_zero(); }

void check_kind(DType from, DType to) {
  if (kind(to) < kind(from))
    throw DTypeError({.what = "the output cannot hold the values of the result",
                      .expected = "a dtype of the kind of " + std::string(name_of(from)),
                      .got = std::string(name_of(to))});
}

Planned plan_product(const Einsum& e, std::span<const TensorType> operands, const EvaluateOptions& options,
                     const Format& result, const Destination& to) {
  if (std::string why = refusal(e, operands, options, result); !why.empty()) return {{}, std::move(why)};
  const PlanOptions how = plan_options(operands, options, to);
  try {
    Plan plan = make_plan(e, operands, how);
    if (planning::Trace::on()) planning::Trace::add("a plan: " + plan.kernel_name(), plan.show());
    return {std::move(plan), {}};
  } catch (const Unsupported& problem) { return {{}, problem.problem().what}; }
}

Tensor run_plan(const Plan& plan, std::span<const Tensor> operands, const Destination& to) {
  if (!to.out && is_one(to.alpha)) return plan.run(operands);
  const Tensor out = to.out ? *to.out : empty_dense(plan.output_type());
  plan.run(operands, out, to.alpha, to.beta);
  return out;
}

void write(const Tensor& result, const Destination& to) {
  const Tensor& out = *to.out;
  if (out.shape() != result.shape())
    throw PlanError({.what = "out has another shape than the result",
                     .expected = tuple_text(result.shape()),
                     .got = tuple_text(out.shape())});
  check_kind(result.dtype(), out.dtype());
  Einsum copy;
  for (int d = 0; d < out.rank(); ++d) {
    copy.output.push_back(d);
    copy.names.push_back("d" + std::to_string(d));
  }
  copy.operands = {copy.output};
  copy.conjugate = {0};
  copy.num_indices = out.rank();
  const Tensor dense[] = {to_dense(result)};
  const TensorType types[] = {dense[0].type()};
  make_plan(copy, types, {.compute_dtype = {}, .output_dtype = out.dtype(), .pattern = false})
      .run(dense, out, to.alpha, to.beta);
}

Tensor scaled(const Tensor& t, const Scalar& alpha) {
  const Scalar own = alpha.as(t.dtype());
  if (is_float(t.dtype()) ? alpha.to_complex().imag() != 0 : own.to_complex() != alpha.to_complex())
    throw PlanError({.what = "alpha does not fit the product's dtype",
                     .expected = "a value that " + std::string(name_of(t.dtype())) + " holds",
                     .got = alpha.to_string(),
                     .fix = "give operands or dtype= a dtype that holds it"});
  RawArrays arrays;
  arrays.values = Buffer::filled(own, 1);
  const std::map<std::string, Tensor> operands{{"t", t}, {"alpha", make_tensor(Format(), {}, std::move(arrays))}};
  Assignment product{.name = "scaled", .indices = {}, .accumulate = false, .value = {}, .text = {}};
  for (int d = 0; d < t.rank(); ++d) product.indices.push_back("d" + std::to_string(d));
  product.value = Expression::access("alpha") * Expression::plain_access("t", product.indices);
  return strata::evaluate(product, operands, {.format = t.format()});
}

}  // namespace strata::evaluation
