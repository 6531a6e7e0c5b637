// Plans: types are checked once, when the plan is made; a run checks that its operands are of these types.
#include <algorithm>

#include "backend/backend.h"
#include "base/checked.h"
#include "base/tuple_text.h"
#include "execute/dense_view.h"
#include "plan/plan_impl.h"
#include "tensor/same_storage.h"

namespace strata {
namespace {

using execution::DenseView;
using planning::refuse;

/// The output type as plans key it: what dense outputs do not use is made uniform.
TensorType output_key(const TensorType& t) {
  TensorType key = t;
  key.fill = Scalar::zero(t.dtype);
  key.pos_dtype = key.crd_dtype = DType::i32;
  return key;
}

bool contiguous_as_planned(const TensorType& planned, const TensorType& t) {
  return planned.strides.empty() && t.strides.empty() && t.dtype == planned.dtype && t.shape == planned.shape &&
         t.format == planned.format;
}

/// Contiguous memory of the planned output type.
Tensor fresh(const planning::Choice& c) {
  std::vector<Part> parts(1, c.fresh);
  parts[0].values = backend().allocate(c.product.output.dtype, c.size);
  return make_from_parts(c.product.output, std::move(parts));
}

}  // namespace

/// One product, by one kernel.
struct ProductPlan final : Plan::Impl {
  Einsum einsum;  ///< as written; the choice's is in normal form
  planning::ChoicePtr choice;

  std::string expression() const override { return einsum.to_string(); }
  TensorType output_type() const override { return choice->product.output; }
  std::string kernel_name() const override { return choice->runner->name(); }
  std::string explain() const override { return planning::explain(einsum, *choice); }
  std::string show() const override {
    const std::string text = choice->runner->show();
    return text.empty() ? "nothing was generated: '" + kernel_name() +
                              "' is written by hand (settings().engine = \"jit\" generates)\n"
                        : text;
  }
  void run(std::span<const Tensor> operands, const Tensor& out, const Scalar& alpha, const Scalar& beta) const override;
  Tensor run(std::span<const Tensor> operands, const Scalar& alpha) const override;
  void check(std::span<const Tensor> operands) const override;
};

namespace planning {

void check_factor(const char* name, const Scalar& s, DType compute) {
  if (s.dtype == compute || is_complex(compute)) return;
  const auto value = s.to_complex();
  if (is_float(compute) ? value.imag() == 0 : s.as(compute).to_complex() == value) return;
  refuse(std::string(name) + " does not fit the product's dtype",
         "a value that " + std::string(name_of(compute)) + " holds", s.to_string(),
         "give operands or output_dtype a dtype that holds it");
}

void check_output(const TensorType& planned, const Tensor& out) {
  const TensorType& t = out.type();
  if (!is_plain_dense(t))
    refuse("the output is not dense", "a dense tensor", t.to_string(),
           "evaluate() makes sparse results; or compute into a dense tensor and convert");
  if (t.shape != planned.shape) refuse("the output has another shape", tuple_text(planned.shape), tuple_text(t.shape));
  if (t.dtype != planned.dtype)
    refuse("the output has another dtype", std::string(name_of(planned.dtype)), std::string(name_of(t.dtype)),
           "plan with output_dtype");
  if (t.device.kind != DeviceKind::cpu) refuse("the output is on another device", "cpu", t.device.to_string());
  if (out.part().values.read_only)
    refuse("the output is read-only", "memory that may be written", "a read-only buffer", "pass a copy");
  if (execution::overlaps_itself(execution::view_of(out)))
    refuse("elements of the output share memory", "memory of its own for each element", t.to_string(), "pass a copy");
}

bool serves(const TensorType& planned, const TensorType& t) {
  if (planned == t) return true;
  TensorType same = t;
  same.strides = planned.strides;
  if (!(planned == same) || planned.strides.empty() || t.strides.size() != planned.strides.size()) return false;
  for (std::size_t l = 0; l < t.strides.size(); ++l)  // a general stride may be any
    if (planned.strides[l] != TensorType::Stride::general && planned.strides[l] != t.strides[l]) return false;
  return true;
}

void refuse_operand(const std::string& name, const TensorType& planned, const TensorType& got) {
  refuse("operand " + name + " is not what the plan was made for", planned.to_string(), got.to_string(),
         "make a plan for these types, or convert the operand");
}

void check_accumulator(DType compute) {
  if (accumulator(compute) != compute && compute != DType::boolean)
    throw PlanError({.what = "sums cannot be kept in " + std::string(name_of(compute)),
                     .expected = "a dtype with arithmetic of its own, such as float32",
                     .got = std::string(name_of(compute))});
}

DTypes dtypes_for(std::span<const TensorType> operands, const PlanOptions& options) {
  DType t = operands[0].dtype;
  for (const auto& o : operands) t = promote(t, o.dtype);
  if (options.output_dtype) t = *options.output_dtype;
  DType compute = accumulator(t);
  if (options.compute_dtype) {
    compute = *options.compute_dtype;
    check_accumulator(compute);
  }
  bool any_complex = false;
  for (const auto& o : operands) any_complex |= is_complex(o.dtype);
  if (any_complex && (!is_complex(t) || !is_complex(compute)))
    throw PlanError({.what = "complex operands would lose their imaginary part",
                     .expected = "complex64 or complex128",
                     .got = "output " + std::string(name_of(t)) + ", sums in " + std::string(name_of(compute))});
  return {t, compute};
}

Shape checked_shape(const Einsum& e, std::span<const TensorType> operands) {
  if (operands.size() != e.operands.size() || operands.empty())
    refuse("the expression and the operands differ in number", std::to_string(e.operands.size()) + " operands",
           std::to_string(operands.size()));
  std::vector<Shape> shapes;
  shapes.reserve(operands.size());
  for (const auto& t : operands) {
    if (t.device.kind != DeviceKind::cpu)
      throw Unsupported(
          {.what = "operands on another device are not built yet", .expected = "cpu", .got = t.device.to_string()});
    shapes.push_back(t.shape);
  }
  Shape shape = output_shape(e, shapes);
  if (!checked_product(shape)) refuse("the result is too large", "at most 2^63 - 1 elements", tuple_text(shape));
  return shape;
}

std::optional<KernelPlan> kernel_plan(const Einsum& e, std::span<const TensorType> operands, const PlanOptions& options,
                                      std::string& why) {
  const Shape shape = checked_shape(e, operands);
  const auto dtypes = dtypes_for(operands, options);
  auto impl = std::make_shared<ProductPlan>();
  impl->choice = choice_for(e, operands, dense_type(shape, dtypes.output), dtypes.compute);
  const Choice& choice = *impl->choice;
  if (!choice.runner) {
    why = "none serves\n" + refusals(choice);
    return std::nullopt;
  }
  impl->einsum = e;
  impl->types.assign(operands.begin(), operands.end());
  auto long_rows = choice.runner->keeps_digits() ? std::nullopt : may_have_long_rows(choice.product);
  return KernelPlan{Plan(std::move(impl)), std::move(long_rows)};
}

}  // namespace planning

namespace {
const Plan::Impl& planned(const std::shared_ptr<const Plan::Impl>& impl) {
  if (!impl) refuse("an empty plan", "a plan that make_plan made", "Plan()");
  return *impl;
}

}  // namespace

Plan planning::fitted(const Plan& plan, std::span<const Tensor> operands) {
  const auto& product = static_cast<const ProductPlan&>(plan.impl());
  bool fits = product.types.size() == operands.size();
  for (std::size_t k = 0; fits && k < operands.size(); ++k) fits = serves(product.types[k], operands[k].type());
  if (fits) return plan;
  std::vector<TensorType> now;
  for (const Tensor& t : operands) now.push_back(t.type());
  const Product& p = product.choice->product;
  return make_plan(product.einsum, now, {.compute_dtype = p.compute, .output_dtype = p.output.dtype});
}

std::string Plan::expression() const { return planned(impl_).expression(); }
const std::vector<TensorType>& Plan::operand_types() const { return planned(impl_).types; }
TensorType Plan::output_type() const { return planned(impl_).output_type(); }
std::string Plan::kernel_name() const { return planned(impl_).kernel_name(); }
std::string Plan::explain() const { return planned(impl_).explain(); }
std::string Plan::show() const { return planned(impl_).show(); }

void Plan::run(std::span<const Tensor> operands, const Tensor& out, const Scalar& alpha, const Scalar& beta) const {
  planned(impl_).check(operands);
  impl_->run(operands, out, alpha, beta);
}
Tensor Plan::run(std::span<const Tensor> operands, const Scalar& alpha) const {
  planned(impl_).check(operands);
  return impl_->run(operands, alpha);
}

Tensor Plan::run_in_pattern_of(const Tensor& previous, std::span<const Tensor> operands, const Scalar& alpha) const {
  const TensorType wanted = output_type();
  if (wanted.format.is_all_dense())
    refuse("a dense result has no pattern to reuse", "a plan with a sparse result", wanted.to_string(), "run(out=)");
  const auto differs = [&](const std::string& what, const std::string& expected, const std::string& got) {
    refuse("the result has another pattern than the one to be reused: " + what, expected, got, "run without reuse");
  };
  if (previous.shape() != wanted.shape) differs("its shape", tuple_text(wanted.shape), tuple_text(previous.shape()));
  impl_->check(operands);
  Tensor result = impl_->run_in_pattern_of(previous, operands, alpha);
  if (!(previous.format() == result.format()))
    differs("its format", result.format().to_string(), previous.format().to_string());
  std::vector<Part> parts;
  for (int k = 0; k < result.num_parts(); ++k) {
    const Part &before = previous.part(k), &now = result.part(k);
    if (previous.type().pos_dtype != result.type().pos_dtype || !same_levels(before, now))
      differs("its elements", std::to_string(result.nse()) + " elements where the operands give them",
              std::to_string(previous.nse()) + ", in other places");
    parts.push_back(before);
    parts.back().values = now.values;
    parts.back().value_stride = now.value_stride;
    parts.back().values_batch_stride = now.values_batch_stride;
  }
  TensorType type = result.type();
  type.pos_dtype = previous.type().pos_dtype;
  type.crd_dtype = previous.type().crd_dtype;
  return make_from_parts(std::move(type), std::move(parts));
}

void ProductPlan::check(std::span<const Tensor> operands) const {
  if (operands.size() != types.size())
    refuse("the plan has another number of operands", std::to_string(types.size()), std::to_string(operands.size()));
  for (std::size_t k = 0; k < operands.size(); ++k)
    if (!planning::serves(types[k], operands[k].type()))
      planning::refuse_operand(std::to_string(k), types[k], operands[k].type());
}

void ProductPlan::run(std::span<const Tensor> operands, const Tensor& out, const Scalar& alpha,
                      const Scalar& beta) const {
  const planning::Choice* used = choice.get();
  planning::check_factor("alpha", alpha, used->product.compute);
  planning::check_factor("beta", beta, used->product.compute);
  planning::check_output(used->product.output, out);
  planning::ChoicePtr other;
  const TensorType& wanted = used->product.output;
  const DenseView view = execution::view_of(out);
  const auto range = execution::extent_of(view);
  if (range.first == range.second) return;  // no elements
  if (!contiguous_as_planned(wanted, out.type())) {
    other = planning::choice_for(einsum, types, output_key(out.type()), used->product.compute);
    used = other.get();
  }
  // Where the output lies over an operand results may only land there at the end.
  if (!used->runner ||
      std::any_of(operands.begin(), operands.end(), [&](const Tensor& t) { return touches(t, range); })) {
    const Tensor copy = fresh(*choice);
    const DenseView scratch = execution::view_of(copy);
    if (!beta.is_zero()) execution::assign(scratch, view);
    choice->runner->run(operands, copy, alpha, beta);
    execution::assign(view, scratch);
    return;
  }
  used->runner->run(operands, out, alpha, beta);
}

Tensor ProductPlan::run(std::span<const Tensor> operands, const Scalar& alpha) const {
  planning::check_factor("alpha", alpha, choice->product.compute);
  const Scalar zero = Scalar::of(0.0);
  Tensor out = fresh(*choice);
  if (choice->size > 0) choice->runner->run(operands, out, alpha, zero);
  return out;
}

}  // namespace strata
