#pragma once
// Reductions that count what is absent, over products of sparse tensors.
#include <optional>

#include "plan/nest/loops.h"

namespace strata::direct {

/// max(j, A(i,j) * B(j,k)) looks at every i and k where each is complete before the next begins. What is there, and how
/// much of it, comes as any other product of sparse matrices does, in the time of its terms; where fewer came than
/// there are places, what is absent counts too.
struct Counted {
  Format format;  ///< of what comes, before it is brought into the wanted one
  Loops values;
  std::optional<Loops> counts;  ///< none: what is absent changes nothing
  Scalar absent;                ///< what an absent term counts as
  Scalar fill;                  ///< of the result
  std::int64_t places = 0;      ///< terms of each reduction, absent ones too

  std::string describe(bool code) const;
  /// The operands of `values`, then those of `counts`.
  std::vector<Lazy> inputs() const;
  bool all_have_absent(std::span<const Tensor> inputs) const;
  /// The result in `format`; nothing where the loops cannot run, or count other elements.
  std::optional<Tensor> run(std::span<const Tensor> inputs) const;
};

/// Nothing where `usual`, the one nest for the problem, is no slower, or the terms cannot be counted.
std::optional<Counted> as_counted(const NestProblem& problem, const Loops& usual);

}  // namespace strata::direct
