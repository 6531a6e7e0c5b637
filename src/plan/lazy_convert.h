#pragma once
// Conversions as steps of a plan.
#include "plan/lazy.h"
#include "strata/convert.h"

namespace strata {

planning::Lazy convert(const planning::Lazy& t, const Format& format, const ConvertOptions& options = {});
/// What convert() makes of such a tensor; how its positions and coordinates are stored is decided when they are
/// counted.
TensorType converted_type(const TensorType& t, double stored, const Format& format, std::optional<DType> dtype = {});

}  // namespace strata
