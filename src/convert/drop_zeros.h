#pragma once
// Conversions that leave out what holds no more than the fill, whatever the formats (Zeros::drop).
#include "convert/convert_elements.h"

namespace strata::conversion {

/// `general`: element by element, which checks the shortcut by way of lists.
Tensor drop(const Tensor& t, const Format& format, const ConvertOptions& options, bool general = false);

/// Where a boolean tensor is not its fill: as what is stored of this one, but for fill-in.
Tensor unlike_fill(const Tensor& truth);
/// One list of elements, or one for each row: CSR or COO.
Format lists_for(const Shape& shape, std::int64_t stored);

}  // namespace strata::conversion
