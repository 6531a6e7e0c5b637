#pragma once
#include <cstdint>

namespace strata::planning {

/// How many times a kernel was chosen since the process began: what the cache of choices knew does not count.
std::int64_t plans_made();

}  // namespace strata::planning
