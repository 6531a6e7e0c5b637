#pragma once
#include "strata/convert.h"

namespace strata::conversion {

/// Called while memory does not suffice for converting `t` to `format`: throws the same again, with the level of the
/// format that takes more than ten times what `t` stores, and why; as it is where there is no such level.
[[noreturn]] void rethrow_with_reason(const Tensor& t, const Format& format);

}  // namespace strata::conversion
