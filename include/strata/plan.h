#pragma once
// From an expression and operand types to a kernel, and from a kernel to a result.
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "strata/expr.h"

namespace strata {

struct PlanOptions {
  std::optional<DType> compute_dtype;  ///< computes in this type (default: the output's, f32 for f16, bf16, fp8)
  std::optional<DType> output_dtype;   ///< default: promotion of the operands
};

/// A chosen way to compute out = alpha * expression + beta * out for operands of given types. Thread safe, shareable.
class Plan {
 public:
  Plan() = default;
  std::string expression() const;  ///< in index notation
  const std::vector<TensorType>& operand_types() const;
  /// Of a product: dense, row-major. Of an expression: as evaluate() has it; how positions and coordinates are stored
  /// is decided when they are counted.
  TensorType output_type() const;

  /// Runs on operands whose types match the plan's (PlanError otherwise), in the order in which the expression names
  /// them. `out` is all-dense with any strides and is written in place: out = alpha * expression + beta * out (beta 0
  /// never reads out). Of a plan with a sparse result it is a tensor of that type with the result's pattern, such as an
  /// earlier result, or the operand that has this pattern: its values are written.
  void run(std::span<const Tensor> operands, const Tensor& out, const Scalar& alpha, const Scalar& beta) const;
  /// Into a fresh tensor; a result in the pattern of an operand has values of its own and shares the other arrays.
  Tensor run(std::span<const Tensor> operands, const Scalar& alpha = Scalar::of(1.0)) const;

  /// The same over the pattern of an earlier result, whose arrays the new one shares; by the numeric phase alone where
  /// explain() tells of one. PlanError: it has another pattern, or none.
  Tensor run_in_pattern_of(const Tensor& previous, std::span<const Tensor> operands,
                           const Scalar& alpha = Scalar::of(1.0)) const;

  /// Every candidate in the order tried, with the reason it was refused or chosen.
  std::string explain() const;
  /// Loops, loop IR and C text, as far as this plan has them.
  std::string show() const;
  /// The kernel of a product; of another expression the way that it goes.
  std::string kernel_name() const;

  struct Impl;
  explicit Plan(std::shared_ptr<const Impl> impl) : impl_(std::move(impl)) {}
  const Impl& impl() const { return *impl_; }

 private:
  std::shared_ptr<const Impl> impl_;
};

/// Plans; results are cached in memory by structure (least recently used ones leave).
Plan make_plan(const Einsum& e, std::span<const TensorType> operands, const PlanOptions& options = {});

/// A user's own kernel. It is asked first, and serves plans whose structure equals its key.
struct UserKernel {
  std::string name;
  std::string expression;       ///< einsum text, e.g. "ij,j->i"
  std::vector<Format> formats;  ///< of the operands; rank-n dense() for dense ones
  std::optional<DType> dtype;   ///< serves only this dtype (all operands), or any
  /// Must set out = alpha * einsum + beta * out.
  std::function<void(std::span<const Tensor> operands, const Tensor& out, const Scalar& alpha, const Scalar& beta)> run;
};
void register_kernel(UserKernel kernel);
/// Removes it again; false where there is none of this name.
bool unregister_kernel(const std::string& name);

}  // namespace strata
