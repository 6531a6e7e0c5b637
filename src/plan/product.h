#pragma once
// What a plan computes, in one normal form, and what can compute it.
#include <memory>
#include <string>
#include <vector>

#include "strata/evaluate.h"

namespace strata::planning {

/// out = alpha * einsum + beta * out over operands of these types, with sums in `compute`.
struct Product {
  Einsum einsum;
  std::vector<TensorType> operands;
  TensorType output;  ///< all-dense, one level per dimension
  DType compute = DType::f64;
};

/// A line of explain(): a candidate and why it was refused, or that it was chosen.
struct Report {
  std::string candidate;
  bool chosen = false;
  std::string reason;
  int depth = 0;  ///< 1: asked on behalf of a candidate that turns an operand first
};

/// One way to compute a product. Immutable; may run in several threads at once.
class Runner {
 public:
  virtual ~Runner() = default;
  /// Operands have the product's types and do not overlap `out`, which has the product's output type.
  virtual void run(std::span<const Tensor> operands, const Tensor& out, const Scalar& alpha,
                   const Scalar& beta) const = 0;
  virtual std::string name() const = 0;
  /// Packs dense operands that a core's caches hold itself, where that pays.
  virtual bool packs() const { return false; }
  /// Adds up long rows of f32 with more digits than f32 has.
  virtual bool keeps_digits() const { return false; }
  /// Lines of explain(): pairs of a word and its text.
  virtual std::vector<std::pair<std::string, std::string>> details() const { return {}; }
  /// Iteration graph, schedule, loop IR and C text; "" where there is none.
  virtual std::string show() const { return {}; }
};
using RunnerPtr = std::shared_ptr<const Runner>;

/// Brings operands into another place or order, and leaves the product to the runner behind it.
class Preparation : public Runner {
 public:
  explicit Preparation(RunnerPtr inner) : inner_(std::move(inner)) {}
  std::string name() const override { return inner_->name(); }
  std::string show() const override { return inner_->show(); }
  bool keeps_digits() const override { return inner_->keeps_digits(); }

 protected:
  RunnerPtr inner_;
};

/// Values in memory, of all parts.
inline std::int64_t stored_values(const Tensor& t) {
  std::int64_t n = 0;
  for (int k = 0; k < t.num_parts(); ++k) n += t.part(k).values.size;
  return n;
}

/// The first candidate that accepts; null where none does. Every one asked leaves a report. `depth`: 1 where a
/// candidate asks that brings operands into another order.
RunnerPtr choose(const Product& product, std::vector<Report>& reports, int depth = 0);

// --- the normal form ---------------------------------------------------------------------------------------------

/// Conjugation of real operands goes; a dimension of extent 1 beside a longer index gets an index of its own (whose
/// only coordinate is 0), so that below here every dimension of an index has the index's extent.
Einsum normalise(const Einsum& e, std::span<const TensorType> operands);
/// Indices numbered in order of appearance, without names: equal for expressions that differ in names alone.
Einsum canonical(const Einsum& e);
/// The type of a fresh result: row-major.
TensorType dense_type(const Shape& shape, DType dtype);
/// What sums are kept in: f32 for f16, bf16 and fp8; i64 for bool (how many are true); otherwise the dtype itself.
DType accumulator(DType dtype);
/// PlanError where a dtype has no arithmetic of its own.
void check_accumulator(DType compute);
/// Elements of a dense copy.
inline double dense_size(const TensorType& t) {
  double n = 1;
  for (const auto extent : t.shape) n *= static_cast<double>(extent);
  return n;
}
/// Stored densely, in one part: operands that a kernel may read anywhere.
bool is_plain_dense(const TensorType& t);

}  // namespace strata::planning
