#pragma once
#include <unistd.h>

#include <algorithm>
#include <cstdint>

#include "base/processor.h"

namespace strata::kernels {

/// Bytes of a core's second level; half of them hold what is used again, beside what streams by.
inline std::int64_t second_level() {
  static const std::int64_t bytes = std::max<std::int64_t>(sysconf(_SC_LEVEL2_CACHE_SIZE), 512 << 10);  // 0 or -1: not known
  return bytes;
}

/// Does a core's second level wait for so many more lines at a time than the first that rows chosen in no order are better asked for into
/// it, wherever they lie behind it? (Rows of a wide stencil too, that come from memory each time.) Measured on Zen 4: 100,000 rows of 256
/// to 1024 bytes take 0.45 to 0.7 of the time. On Intel's processors from Sapphire Rapids on it was measured, and is done, only where A
/// streams from memory too.
inline bool second_level_waits_longest() { return !is_sapphire_rapids_or_later(); }

/// Bytes of a vector that lies in no cache that a core can count on: a third level is shared.
inline constexpr std::int64_t far_bytes = 7 << 20;

/// Bytes of a dense operand that a core copies within its caches.
inline constexpr std::int64_t packed_bytes = std::int64_t{2} << 20;
inline constexpr std::int64_t line_bytes = 64;

}  // namespace strata::kernels
