#pragma once
// Storage-only floats; many at once have the same bits as one by one.
#include <cstdint>

#include "strata/dtype.h"

namespace strata {

/// Is it a float that is stored, and has no arithmetic of its own?
inline bool is_small_float(DType t) { return is_float(t) && size_of(t) < 4; }

void f16_to_f32(const std::uint16_t* from, float* to, std::int64_t n);
void f32_to_f16(const float* from, std::uint16_t* to, std::int64_t n);
void bf16_to_f32(const std::uint16_t* from, float* to, std::int64_t n);
void f32_to_bf16(const float* from, std::uint16_t* to, std::int64_t n);

}  // namespace strata
