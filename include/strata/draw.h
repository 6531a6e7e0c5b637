#pragma once
#include <string>

#include "strata/tensor.h"

namespace strata {

/// The storage as text for a terminal: a row per pos, crd and values array, level by level. At most `width` columns.
std::string draw_storage_text(const Tensor& t, int width = 100);

}  // namespace strata
