#pragma once
#include "plan/long_rows.h"

namespace strata {

namespace planning {

/// What was decided for a product.
struct Choice {
  Product product;
  RunnerPtr runner;  ///< null: no kernel is written for it
  std::vector<Report> reports;
  Part fresh;             ///< a fresh dense output without its memory
  std::int64_t size = 0;  ///< elements of a dense output
};
using ChoicePtr = std::shared_ptr<const Choice>;

/// The choice for this structure: one that was made before, or a new one.
ChoicePtr choice_for(const Einsum& e, std::span<const TensorType> operands, const TensorType& output, DType compute);

/// The dtypes that options ask for, or the rules give.
struct DTypes {
  DType output, compute;
};
/// PlanError: sums cannot be kept in that dtype, or complex values would lose their imaginary part.
DTypes dtypes_for(std::span<const TensorType> operands, const PlanOptions& options);

/// The shape of what the einsum makes of these. PlanError: another number of operands, a result that is too large.
/// Unsupported: operands on another device.
Shape checked_shape(const Einsum& e, std::span<const TensorType> operands);

/// A product as one kernel computes it that is written for it: a user's, a vendor's or ours.
struct KernelPlan {
  Plan plan;
  std::optional<SummedOperand> long_rows;  ///< whose sums the kernel does not add up well enough
};
/// Nothing where there is none, and `why`. Otherwise as make_plan().
std::optional<KernelPlan> kernel_plan(const Einsum& e, std::span<const TensorType> operands, const PlanOptions& options,
                                      std::string& why);

std::string explain(const Einsum& e, const Choice& choice);
/// Why each candidate refused, those that say the same in one line.
std::string refusals(const Choice& choice);

[[noreturn]] inline void refuse(std::string what, std::string expected, std::string got, std::string fix = {}) {
  throw PlanError(
      {.what = std::move(what), .expected = std::move(expected), .got = std::move(got), .fix = std::move(fix)});
}

/// PlanError: a factor loses its value in the dtype that sums are kept in; floats may round.
void check_factor(const char* name, const Scalar& s, DType compute);
/// PlanError: this is no memory for a dense result of that shape and dtype.
void check_output(const TensorType& planned, const Tensor& out);

/// The plan of a kernel, where it serves these operands; otherwise the same for their types: how positions and
/// coordinates of what was made on the way are stored is known when they are counted.
Plan fitted(const Plan& kernel, std::span<const Tensor> operands);

/// Would a kernel made for operands of type `planned` read an operand of type `t` rightly?
bool serves(const TensorType& planned, const TensorType& t);
/// PlanError: operand `name` of a plan has another type.
[[noreturn]] void refuse_operand(const std::string& name, const TensorType& planned, const TensorType& got);

}  // namespace planning

/// One kind of plan.
struct Plan::Impl {
  std::vector<TensorType> types;
  Impl() = default;
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;
  virtual ~Impl() = default;
  virtual std::string expression() const = 0;
  virtual TensorType output_type() const = 0;
  virtual std::string kernel_name() const = 0;
  virtual std::string explain() const = 0;
  virtual std::string show() const = 0;
  /// PlanError: their number, or a type. What runs takes for granted that somebody has looked.
  virtual void check(std::span<const Tensor> operands) const = 0;
  virtual void run(std::span<const Tensor> operands, const Tensor& out, const Scalar& alpha,
                   const Scalar& beta) const = 0;
  virtual Tensor run(std::span<const Tensor> operands, const Scalar& alpha) const = 0;
  /// The same, by a numeric phase where there is one for the pattern of an earlier result and its arrays can be shared.
  virtual Tensor run_in_pattern_of(const Tensor& /*earlier*/, std::span<const Tensor> operands,
                                   const Scalar& alpha) const {
    return run(operands, alpha);
  }
};

}  // namespace strata
