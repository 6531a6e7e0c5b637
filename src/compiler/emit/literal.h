#pragma once
#include <string>

#include "strata/dtype.h"

namespace strata {

/// A constant as C spells it: "5", "0.5f", "-0.0", "__builtin_inf()". Integers that fit an int have no suffix, so
/// their C type may be narrower than their own: where that matters, cast.
std::string literal(const Scalar& s);

}  // namespace strata
