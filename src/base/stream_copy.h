#pragma once
#include <cstdint>
#include <cstring>
#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace strata {

/// Copies past the caches: what is written is not read again soon, and its lines need not be read before they are
/// overwritten whole. From memory that a cache holds.
inline void stream_copy(void* to, const void* from, std::size_t bytes) {
  auto* p = static_cast<char*>(to);
  auto* q = static_cast<const char*>(from);
#if defined(__SSE2__)
  const std::size_t lead = -reinterpret_cast<std::uintptr_t>(p) % 64;
  if (bytes >= lead + 64) {
    std::memcpy(p, q, lead);
    p += lead, q += lead, bytes -= lead;
    for (; bytes >= 64; p += 64, q += 64, bytes -= 64)
      for (int k = 0; k < 64; k += 16)
        _mm_stream_si128(reinterpret_cast<__m128i*>(p + k), _mm_loadu_si128(reinterpret_cast<const __m128i*>(q + k)));
    _mm_sfence();
  }
#endif
  std::memcpy(p, q, bytes);
}

}  // namespace strata
