#pragma once
// Any expression over any formats, into any format (design 4).
#include <map>
#include <optional>
#include <string>

#include "strata/evaluate_options.h"
#include "strata/expr.h"
#include "strata/expression.h"
#include "strata/plan.h"
#include "strata/schedule.h"
#include "strata/semiring.h"
#include "strata/tensor.h"

namespace strata {

/// Evaluates on tensors by name, by the first way that serves: a plan (one product, at most one sparse operand, a dense
/// result), a plan in the pattern of the sparse operand, generated code, the general path. A product of three or more
/// goes pair by pair where that takes less than half of the multiply-adds. Cost follows the stored elements wherever
/// the expression lets it. ExpressionError, DTypeError, TensorError (a format that cannot hold the result).
Tensor evaluate(const Assignment& a, const std::map<std::string, Tensor>& operands,
                const EvaluateOptions& options = {});
Tensor evaluate(std::string_view text, const std::map<std::string, Tensor>& operands,
                const EvaluateOptions& options = {});
/// out = alpha * expression + beta * out; `out` is all-dense with any strides, beta 0 never reads it. `format` does not
/// count. PlanError: another shape, alpha or beta in a semiring; DTypeError: `out` is of a lower kind.
void evaluate_into(const Assignment& a, const std::map<std::string, Tensor>& operands, const Tensor& out,
                   const EvaluateOptions& options = {}, const Scalar& alpha = Scalar::of(std::int64_t{1}),
                   const Scalar& beta = Scalar::of(std::int64_t{0}));

/// The einsum as an assignment over operands "A", "B", ... (beyond the 26th "T26", ...).
Assignment to_assignment(const Einsum& e);
std::string operand_name(std::size_t k);
/// alpha * einsum. PlanError: alpha is not 1 where no plan serves.
Tensor evaluate(const Einsum& e, std::span<const Tensor> operands, const EvaluateOptions& options = {},
                const Scalar& alpha = Scalar::of(std::int64_t{1}));
void evaluate_into(const Einsum& e, std::span<const Tensor> operands, const Tensor& out,
                   const EvaluateOptions& options = {}, const Scalar& alpha = Scalar::of(std::int64_t{1}),
                   const Scalar& beta = Scalar::of(std::int64_t{0}));
/// NumPy's einsum with these options. Its result is as sparse as evaluate() has it.
Tensor einsum(std::string_view text, std::span<const Tensor> operands, const EvaluateOptions& options);

/// The format that a result gets, and why (design 4).
struct ResultFormat {
  Format format;
  std::string why;
};
/// Of `options` the mask counts: what would be dense is sparse under a sparse one.
ResultFormat result_format(const Assignment& a, const std::map<std::string, TensorType>& operands,
                           const EvaluateOptions& options = {});

/// A type of this format, shape and dtype around 0, with the narrowest positions and coordinates that hold so many
/// elements.
TensorType tensor_type(std::string_view format, Shape shape, DType dtype = DType::f64, std::int64_t nse = 0);

/// What planning looks at: a type, and about how many elements are stored. A tensor has both.
struct PlanOperand {
  PlanOperand(Tensor t) : type(t.type()), tensor(std::move(t)) {}  // NOLINT(google-explicit-constructor): it is one
  /// `nse`: elements, about; 16 a row where not given, of a dense operand all.
  explicit PlanOperand(TensorType t, std::optional<std::int64_t> elements = {}) : type(std::move(t)), nse(elements) {}
  TensorType type;
  std::optional<std::int64_t> nse = {};
  std::optional<Tensor> tensor = {};
};
/// By name.
class PlanOperands {
 public:
  PlanOperands(std::initializer_list<std::pair<const std::string, PlanOperand>> operands) : operands_(operands) {}
  PlanOperands(std::map<std::string, PlanOperand> operands)  // NOLINT(google-explicit-constructor)
      : operands_(std::move(operands)) {}
  PlanOperands(const std::map<std::string, Tensor>& operands);  // NOLINT(google-explicit-constructor)
  const std::map<std::string, PlanOperand>& by_name() const { return operands_; }

 private:
  std::map<std::string, PlanOperand> operands_;
};

/// Plans an expression once, to run on operands of these types as often as wanted; a mask among the options stays the
/// plan's. Whatever the operands store, a run is right: what was taken for granted of them is looked at, and planned
/// anew where it does not hold. ExpressionError, DTypeError, TensorError, ScheduleError.
Plan make_plan(const Assignment& a, const PlanOperands& operands, const EvaluateOptions& options = {});

/// The operands, the result's format and why it is that, about how much work and memory it takes, and the ways to the
/// result in the order tried: what refused and why, and how the one that serves goes about it. Nothing is computed.
/// ExpressionError.
std::string explain(const Assignment& a, const PlanOperands& operands, const EvaluateOptions& options = {});
/// What is generated for it: loops, loop IR and C text of each step. Nothing is computed.
std::string show(const Assignment& a, const PlanOperands& operands, const EvaluateOptions& options = {});

/// An operand that has a type but no data.
struct SymbolicOperand {
  std::string format = "dense";  ///< a format text or name
  DType dtype = DType::f64;
};
/// EvaluateOptions without data.
struct SymbolicOptions {
  Semiring semiring = Semiring::plus_times;
  std::optional<std::string> mask = {};  ///< its format
  bool complement_mask = false;
  std::optional<Schedule> schedule = {};
};
/// What an emitted file is like.
struct EmitOptions {
  std::string name = "kernel";  ///< of its function
  /// A main() too, which calls the function on a tiny input, prints the result, and returns 0 where that is right.
  /// Unsupported: anything but a product with a dense result.
  bool main = false;
};
/// The kernel of an expression that takes one, as a C11 file that needs nothing of Strata: its first comment
/// says how to compile and call it. `operands` may also give the result a format, by its name. ExpressionError,
/// FormatError, Unsupported.
std::string emit_expression(std::string_view text, const std::map<std::string, SymbolicOperand>& operands,
                            std::int64_t extent = 1000, const SymbolicOptions& options = {},
                            const EmitOptions& emit = {});
/// show() for index notation such as "y(i) = A(i,j) * x(j)" without data: every index has this extent, sparse operands
/// have some 16 elements for each coordinate of one of them, operands that the map lacks are dense f64. It may also
/// give the result a format, by its name. Without `code` explain() alone. ExpressionError, FormatError, ScheduleError.
std::string show_expression(std::string_view text, const std::map<std::string, SymbolicOperand>& operands,
                            std::int64_t extent = 1000, bool code = true, const SymbolicOptions& options = {});

}  // namespace strata
