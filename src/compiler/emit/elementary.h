#pragma once
// Functions of one number as a few lines of C that become part of a loop.
#include <string_view>

#include "strata/dtype.h"

namespace strata {

/// Lines that return the function of `a`, of float32 or float64.
std::string_view logarithm_lines(DType t);
std::string_view hyperbolic_tangent_lines(DType t);

}  // namespace strata
