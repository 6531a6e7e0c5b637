#pragma once
// The verbs over tensors: products and comparison. (Conversions and slices: convert.h.)
#include <initializer_list>
#include <optional>
#include <span>
#include <string_view>

#include "strata/convert.h"
#include "strata/plan.h"
#include "strata/tensor.h"

namespace strata {

/// Are the shapes and all elements equal, in whatever formats and dtypes? As NumPy's array_equal: by value, so that 0
/// and -0 are equal, and NaN nothing. O(stored). What is stored, bit by bit, compares same_storage().
bool equal(const Tensor& a, const Tensor& b);

/// c = alpha * op(a) @ op(b) + beta * c, with NumPy's matmul rules for ranks (vectors, matrices, batches). The result
/// is dense where at most one operand is sparse and does not have all of its indices, else as evaluate() infers it.
struct MatmulOptions {
  bool transpose_a = false, transpose_b = false, conjugate_a = false, conjugate_b = false;
  PlanOptions plan = {};
};
Tensor matmul(const Tensor& a, const Tensor& b, const MatmulOptions& options = {},
              const Scalar& alpha = Scalar::of(std::int64_t{1}));
/// NumPy stretches extents of 1 over batches, never over the dimension that is summed: ExpressionError where those of a
/// @ b differ.
void check_inner(const Shape& a, const Shape& b, const MatmulOptions& options);
void matmul_into(const Tensor& a, const Tensor& b, const Tensor& c, const Scalar& alpha, const Scalar& beta,
                 const MatmulOptions& options = {});
/// The einsum that matmul means for operands of these ranks.
Einsum matmul_einsum(int rank_a, int rank_b, const MatmulOptions& options);

/// NumPy's einsum over any mix of sparse and dense operands. The result has the format that evaluate() infers (for
/// sums, semirings, functions and formats of your choice see there).
Tensor einsum(std::string_view text, std::span<const Tensor> operands, const PlanOptions& options = {});
inline Tensor einsum(std::string_view text, std::initializer_list<Tensor> operands) {
  return einsum(text, std::span(operands.begin(), operands.size()));
}

/// matmul whose planning is done once: plan(), then execute() as often as wanted.
class Matmul {
 public:
  Matmul(Tensor a, Tensor b, std::optional<Tensor> c = {}, Scalar alpha = Scalar::of(1.0),
         std::optional<Scalar> beta = {}, MatmulOptions options = {});
  const Plan& plan();
  Tensor execute();  ///< PlanError before plan()
  /// New operands of the same types and shapes (nse may differ).
  void reset_operands(std::optional<Tensor> a, std::optional<Tensor> b, std::optional<Tensor> c,
                      std::optional<Scalar> alpha = {}, std::optional<Scalar> beta = {});

 private:
  Tensor a_, b_;
  std::optional<Tensor> c_;
  Scalar alpha_, beta_;
  MatmulOptions options_;
  Plan plan_;
  bool planned_ = false;
};

}  // namespace strata
