#pragma once
// Parts of an expression that are computed first.
#include "strata/expression.h"

namespace strata::direct {

/// `value` with an access to the workspace wherever the workspace's own value stands: as a whole, or as factors of a
/// product whose sums it carries out. ScheduleError: it stands nowhere, or an index that it sums is needed elsewhere.
Expression with_workspace(const Expression& value, const Assignment& workspace);

}  // namespace strata::direct
