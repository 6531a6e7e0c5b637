#pragma once
#include "strata/structure.h"

namespace strata {

/// Fills in formats, recommended and why, from what was measured.
void estimate_formats(Structure& s);

}  // namespace strata
