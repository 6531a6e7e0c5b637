#pragma once
// A plan's steps, which run as often as wanted on operands of its types.
#include <span>
#include <vector>

#include "plan/lazy.h"

namespace strata::planning {

class Program {
 public:
  explicit Program(Lazy result);
  const TensorType& type() const { return result_.type(); }
  const Lazy& result() const { return result_; }
  /// `given` by position, of the types that were planned for.
  Tensor run(std::span<const Tensor> given) const;
  /// The same into a destination: nothing where the last step only makes fresh tensors.
  std::optional<Tensor> deliver(std::span<const Tensor> given, const Destination& to) const;
  /// The same; over the arrays of an earlier result's pattern where the last step has a numeric phase for it.
  Tensor run_in_pattern_of(const Tensor& earlier, std::span<const Tensor> given) const;
  /// Has the last step one? In one line, "" of a dense result.
  std::string reuse() const;
  /// Innermost iterations of all steps, about.
  double work() const;
  /// What is generated for each step, in the order in which they run.
  std::string code() const;

  /// A tensor that steps make on the way, and how often others ask for it: then it goes.
  struct Made {
    Lazy lazy;
    int uses = 0;
  };

 private:
  Lazy::Inputs inputs_of_only(std::span<const Tensor> given) const;

  Lazy result_;
  std::vector<Made> made_;
  std::vector<std::size_t> only_;  ///< of the only step: positions of its inputs, which are all given; none: several
  std::optional<Plan> kernel_;     ///< the same, in their order: small products take no more time
};

}  // namespace strata::planning
