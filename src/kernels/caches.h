#pragma once
#include <cstdint>

#include "machine/machine.h"

namespace strata::kernels {

/// Rows of so many bytes between one that is prefetched by order and the one that is read: a second level keeps them.
inline std::int64_t order_slack(std::int64_t row_bytes) { return machine().second_level / 4 / row_bytes; }

/// Bytes of a dense operand that a core copies within its caches.
inline constexpr std::int64_t packed_bytes = std::int64_t{2} << 20;
inline constexpr std::int64_t line_bytes = 64;

}  // namespace strata::kernels
