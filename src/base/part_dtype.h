#pragma once
#include "strata/dtype.h"

namespace strata {

/// The dtype of a number's real part, and of its imaginary one where it has one.
constexpr DType part_dtype(DType t) { return t == DType::c64 ? DType::f32 : t == DType::c128 ? DType::f64 : t; }

/// The dtype that long sums of such values are kept in.
constexpr DType wide_sums(DType t) { return t == DType::f32 ? DType::f64 : t == DType::c64 ? DType::c128 : t; }

}  // namespace strata
