#pragma once
#include "strata/buffer.h"

namespace strata {

/// Does the memory come from Buffer::allocate? Other memory is somebody's who may write to it.
bool is_own(const Buffer& b);

}  // namespace strata
