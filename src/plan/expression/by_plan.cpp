// Where a result goes: fresh memory or a caller's, scaled.
#include "execute/dense_view.h"
#include "plan/expression/front.h"
#include "plan/plan_impl.h"
#include "strata/convert.h"
#include "tensor/row_major.h"
#include "tensor/same_storage.h"

namespace strata::evaluation {
namespace {

bool is_one(const Scalar& s) { return s.to_complex() == std::complex<double>(1); }

int kind(DType t) { return t == DType::boolean ? 0 : is_integer(t) ? 1 : is_float(t) ? 2 : 3; }

}  // namespace

void check_kind(DType from, DType to) {
  if (kind(to) < kind(from))
    throw DTypeError({.what = "the output cannot hold the values of the result",
                      .expected = "a dtype of the kind of " + std::string(name_of(from)),
                      .got = std::string(name_of(to))});
}

Destination times(Destination to, const Scalar& factor) {
  const auto value = factor.to_complex();
  if (value == 1.0) return to;
  const auto alpha = to.alpha.to_complex() * value;
  to.alpha = alpha.imag() == 0 ? Scalar::of(alpha.real()) : Scalar::of(alpha);
  return to;
}

Tensor run_plan(const Plan& plan, std::span<const Tensor> operands, const Destination& to) {
  if (!to.out && is_one(to.alpha)) return plan.run(operands);
  const Tensor out = to.out ? *to.out : empty_dense(plan.output_type().dtype, plan.output_type().shape);
  plan.run(operands, out, to.alpha, to.beta);
  return out;
}

namespace {

/// Values alone: `out` has the result's pattern.
void write_values(const Tensor& result, const Destination& to) {
  const Tensor& out = *to.out;
  const auto refuse = [](const char* what, const std::string& expected, const std::string& got, const char* fix) {
    throw PlanError({.what = what, .expected = expected, .got = got, .fix = fix});
  };
  if (!(out.format() == result.format()) || out.shape() != result.shape() || out.dtype() != result.dtype() ||
      out.type().shared_value || !out.fill().same_bits(result.fill()))
    refuse("the output is of another type", result.type().to_string(), out.type().to_string(),
           "give what run() returned for these operands");
  for (int k = 0; k < out.num_parts(); ++k) {
    const Part &own = out.part(k), &part = result.part(k);
    if (!same_levels(own, part) || own.value_stride != part.value_stride ||
        own.values_batch_stride != part.values_batch_stride || own.values.size != part.values.size)
      refuse("the output has a pattern of its own", "the elements that the operands give the result", "others",
             "give what run() returned for these operands");
    if (own.values.read_only)
      refuse("the output is read-only", "memory that may be written", "a read-only buffer", "pass a copy");
  }
  for (int k = 0; k < out.num_parts(); ++k) {
    const auto values = [k](const Tensor& t) {
      const Buffer& b = t.part(k).values;
      const std::int64_t step = 1;
      return borrow_dense(b, {b.size}, {&step, 1}, 0);
    };
    if (out.part(k).values.size > 0) write(values(result), {values(out), to.alpha, to.beta});
  }
}

}  // namespace

void write(const Tensor& result, const Destination& to) {
  const Tensor& out = *to.out;
  if (!out.format().is_all_dense()) return write_values(result, to);
  check_kind(result.dtype(), out.dtype());
  planning::check_output(planning::dense_type(result.shape(), out.dtype()), out);
  const DType compute = planning::accumulator(out.dtype());
  planning::check_factor("alpha", to.alpha, compute);
  planning::check_factor("beta", to.beta, compute);
  const Tensor dense = to_dense(result);
  execution::axpby(execution::view_of(out), execution::view_of(dense), to.alpha.as(compute), to.beta.as(compute));
}

Tensor delivered(Tensor result, const Destination& to) {
  if (!to.out && !to.scales()) return result;
  if (!to.out) return scaled(result, to.alpha);
  write(result, to);
  return *to.out;
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
