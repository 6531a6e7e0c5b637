#pragma once
#include "strata/convert.h"

namespace strata::conversion {

/// The same storage with other index dtypes: each array is cast, and the values are shared. Nothing where more is to be
/// done than that. TensorError: a position or coordinate does not fit.
std::optional<Tensor> recast(const Tensor& t, const Format& format, const ConvertOptions& options);

}  // namespace strata::conversion
