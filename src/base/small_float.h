#pragma once
// Many storage-only floats at once: the same bits as one by one.
#include <cstdint>

namespace strata {

void f16_to_f32(const std::uint16_t* from, float* to, std::int64_t n);
void f32_to_f16(const float* from, std::uint16_t* to, std::int64_t n);
void bf16_to_f32(const std::uint16_t* from, float* to, std::int64_t n);
void f32_to_bf16(const float* from, std::uint16_t* to, std::int64_t n);

}  // namespace strata
