#pragma once
// What was planned before: one memory of all plans, whoever asks.
#include <cstdint>
#include <functional>
#include <memory>

#include "plan/key.h"
#include "plan/plan_impl.h"
#include "plan/program.h"

namespace strata::planning {

/// The way to the result of an expression.
struct Planned {
  Key key;
  Counts counts;                      ///< of the operands that it was made for
  bool by_types = false;              ///< these were not asked for
  std::string way;                    ///< that it goes
  std::function<std::string()> text;  ///< what explain() says of it
  std::shared_ptr<const Program> program;
};
using PlannedPtr = std::shared_ptr<const Planned>;

/// The plan for this: one that was made before, or what `make` makes, which is kept. `make` may throw.
PlannedPtr plan_for(const Asking& asking, const std::function<Planned(Key, const Counts&)>& make);

/// How many times an expression was planned, and a kernel chosen, since the process began: what is remembered does not
/// count.
std::int64_t programs_made();
std::int64_t plans_made();

}  // namespace strata::planning
