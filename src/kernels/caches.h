#pragma once
#include <unistd.h>

#include <algorithm>
#include <cstdint>

#include "base/processor.h"

namespace strata::kernels {

/// Bytes of a core's second level; half of them hold what is used again, beside what streams by.
inline std::int64_t second_level() {
  static const std::int64_t bytes =
      std::max<std::int64_t>(sysconf(_SC_LEVEL2_CACHE_SIZE), 512 << 10);  // 0 or -1: not known
  return bytes;
}

/// Bytes of a vector that lies in no cache that a core can count on: a third level is shared.
inline constexpr std::int64_t far_bytes = 7 << 20;

/// How what A chooses of x is best asked for, where the second level does not hold x.
struct Asking {
  /// Bytes of x from which on rows in no order are asked for earlier, into the second level.
  std::int64_t scattered_bytes;
  /// Those too of an A that a cache holds, and those of a wide stencil, which come from memory each time: that level
  /// waits for so many more lines at a time than the first. (Zen 4: 100,000 rows of 256 to 1024 bytes take 0.45 to 0.7
  /// of the time.)
  bool wherever;
  /// How rows are asked for depends on their order alone. Rows of a mesh or a band, which follow a diagonal: where that
  /// goes on. Other rows that follow those of the row before (blocks): early, into the second level. No order: into
  /// that level and then into the first, from twice_bytes of x on (base/row_order.h). (Zen 3, 16 to 64 columns of
  /// float32, one and two threads, beside 24 elements ahead into the first: 0.65 to 0.85 of the time, 0.6 to 0.96, and
  /// with 64 columns 0.7 to 1.)
  bool by_order;
  /// Bytes of a vector x from which on its elements, chosen in no order by an A that streams by, are asked for early;
  /// then the same where rows have 32 bytes of values at most.
  std::int64_t vector_bytes, vector_of_short_rows;
  /// Those into the second level. (Zen 4, x of 1.4 to 32 MB: 0.55 to 0.95 of the time, into the first 0.8 to 1.1; x
  /// that the second level holds 1.05 to 1.25. Zen 3, x of 0.8 to 4 MB: 0.65 to 1.05, where rows have eight elements of
  /// float32 or fewer 1.1 to 1.25.)
  bool vector_second;
  /// Bytes of A, values and columns, from which on it streams by a vector. 0: of values alone, as by a matrix. (Zen 3,
  /// A in a third level: 0.9 to 1.05 of the time, and 0.7 to 0.85 where neighbours use that level too.)
  std::int64_t vector_streamed;
};

/// As measured: on Granite Rapids, on Zen 4, and on Zen 3, which stands for all others.
inline Asking asking() {
  if (is_sapphire_rapids_or_later())
    return {.scattered_bytes = far_bytes,
            .wherever = false,
            .by_order = asks_for_rows_by_order(),
            .vector_bytes = far_bytes,
            .vector_of_short_rows = far_bytes,
            .vector_second = false,
            .vector_streamed = 0};
  if (is_zen4_or_later())
    return {.scattered_bytes = far_bytes,
            .wherever = true,
            .by_order = asks_for_rows_by_order(),
            .vector_bytes = second_level(),
            .vector_of_short_rows = second_level(),
            .vector_second = true,
            .vector_streamed = 16 << 20};
  return {.scattered_bytes = 0,
          .wherever = false,
          .by_order = asks_for_rows_by_order(),
          .vector_bytes = second_level(),
          .vector_of_short_rows = far_bytes,
          .vector_second = true,
          .vector_streamed = 6 << 20};
}

/// Rows of so many bytes between one that is asked for by order and the one that is read: a second level keeps them.
inline std::int64_t order_slack(std::int64_t row_bytes) { return second_level() / 4 / row_bytes; }

/// Bytes of a dense operand that a core copies within its caches.
inline constexpr std::int64_t packed_bytes = std::int64_t{2} << 20;
inline constexpr std::int64_t line_bytes = 64;

}  // namespace strata::kernels
