#pragma once
// What `*`, `+` and sums mean in an expression (design 4).
#include <memory>
#include <string>
#include <string_view>

#include "strata/expression.h"

namespace strata {

/// Under all but plus_times, missing are the absent elements and the fill-in of sparse operands whose fill is 0 or the
/// additive identity (in whatever dtype: nothing stays nothing where integers become floats); the result's fill is the
/// additive identity, and so is every product with it.
class Semiring {
 public:
  enum Kind : std::uint8_t { plus_times, min_plus, max_plus, max_times, or_and, any, user };
  struct Definition {
    Expression add, multiply;  ///< of the scalars `a` and `b`
    double zero = 0;           ///< the additive identity; of integers inf is the largest one
  };

  Semiring() = default;
  Semiring(Kind named);  // NOLINT(google-explicit-constructor): Semiring::min_plus is a semiring
  /// One of your own, e.g. Semiring("min(a, b)", "a + b", inf): expressions of a and b with the operators and functions
  /// of index notation. They compute in the dtype of the operands. `add` must be commutative and associative with the
  /// identity `zero`, which each evaluation checks on samples of the values at hand; products of three factors or more
  /// may be taken in any order where the samples let them. ExpressionError.
  Semiring(std::string_view add, std::string_view multiply, double zero);

  Kind kind() const { return kind_; }
  const Definition* definition() const { return definition_.get(); }
  /// What parse_semiring reads: "min-plus", or "min(a, b); a + b; inf".
  std::string to_string() const;
  bool operator==(const Semiring& other) const;

 private:
  Kind kind_ = plus_times;
  std::shared_ptr<const Definition> definition_;
};

/// A name ("min-plus", "min_plus"), or "add; multiply; zero". ExpressionError.
Semiring parse_semiring(std::string_view text);

}  // namespace strata
