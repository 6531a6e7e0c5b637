#pragma once
// What an evaluation computes in: `dtype` and `compute_dtype`, as NumPy's dtype=.
#include <map>
#include <optional>
#include <set>
#include <string>

#include "plan/asked.h"

namespace strata::evaluation {

/// DTypeError where values of `from` may not become `to` (casting="same_kind").
void check_cast(DType from, DType to, const std::string& what);

/// The same tensor in another dtype, in its own storage. Where its own dtype would lose what a sum of duplicates, or of
/// parts, comes to, they are added in it first: a tensor is what its elements are.
Tensor cast(const Tensor& t, DType dtype);
Lazy cast(const Lazy& t, DType dtype);
/// The operand of a plan that computes in `dtype`: as it is where the plan's own cast of what it loads is the same.
Tensor loaded_as(const Tensor& t, DType dtype);
Lazy loaded_as(const Lazy& t, DType dtype);

/// Duplicates added in the tensor's own dtype, where a product that computes in `dtype` would add them otherwise.
Tensor added(const Tensor& t, DType dtype);
Lazy added(const Lazy& t, DType dtype);

/// What the options ask for, of an expression over these operands.
class Dtypes {
 public:
  /// DTypeError: an operand that may not be cast, an expression whose values the dtype does not hold. PlanError: sums
  /// in a dtype without arithmetic of its own.
  Dtypes(const Assignment& a, const Operands& operands, const Asked& options);

  /// Is there a dtype that is computed in, or cast to?
  bool asked() const { return asked_; }
  /// What is left to ask for where operands have been cast: a dtype of the result.
  const Asked& options() const { return options_; }
  /// The same for a plan, whose operands are loaded().
  Asked plan_options() const;
  /// An operand of this name and dtype becomes:
  DType of(const std::string& name, DType own) const;
  Operands cast(const Operands& operands) const;
  /// The operands of a plan; `product`: what it promotes to where nothing is asked for.
  Lazy loaded(const std::string& name, const Lazy& t, DType product) const;

 private:
  Asked options_;
  bool asked_ = false;
  std::optional<DType> compute_;  ///< what operands are cast to
  bool exact_ = false;            ///< sums too are kept in it: it was asked for as compute_dtype
  std::set<std::string> cast_;    ///< operands that are cast
};

}  // namespace strata::evaluation
