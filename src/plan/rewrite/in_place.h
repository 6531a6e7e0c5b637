#pragma once
#include <map>
#include <optional>
#include <string>

#include "plan/asked.h"

namespace strata::direct {

/// e(j) = d(j) + s(j), where s is a result of a step before that nobody else has: its memory becomes e. Nothing where
/// that cannot be done; `otherwise` where it turns out when it runs.
std::optional<Lazy> added_in_place(const Assignment& a, const Operands& operands, const Asked& options,
                                   std::function<Lazy()> otherwise);

}  // namespace strata::direct
