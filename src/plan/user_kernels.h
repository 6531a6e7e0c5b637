#pragma once
#include "plan/product.h"

namespace strata::planning {

/// Asks the kernels that users registered, newest first; each leaves a report. Null where none serves.
RunnerPtr choose_user_kernel(const Product& product, std::vector<Report>& reports, int depth);
/// Changes whenever a kernel is registered or removed: plans made before are then out of date.
unsigned long long user_kernel_generation();

}  // namespace strata::planning
