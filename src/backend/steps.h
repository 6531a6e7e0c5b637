#pragma once
// Long serial loops that hear Ctrl-C.
#include <algorithm>
#include <cstdint>
#include <cstring>

#include "backend/pool.h"

namespace strata {

constexpr std::int64_t steps_between_polls = 1 << 16;  ///< some 0.1 ms of work: felt by nobody, either way

/// For loops that do some work in each step: polls at every 65,536th.
inline void poll_at(std::int64_t step) {
  if (step % steps_between_polls == 0) poll_interrupt();
}

/// For tight loops: calls f(begin, end) for pieces of [begin, end), in order, and polls between them.
template <class F>
void in_steps(std::int64_t begin, std::int64_t end, const F& f, std::int64_t step = steps_between_polls) {
  for (std::int64_t at = begin; at < end;) {
    if (at > begin) poll_interrupt();
    const std::int64_t next = end - at > step ? at + step : end;
    f(at, next);
    at = next;
  }
}

/// Memory that may be large.
inline void copy_in_steps(void* to, const void* from, std::int64_t bytes) {
  in_steps(
      0, bytes,
      [&](std::int64_t begin, std::int64_t end) {
        std::memcpy(static_cast<char*>(to) + begin, static_cast<const char*>(from) + begin,
                    static_cast<std::size_t>(end - begin));
      },
      std::int64_t{1} << 24);
}

}  // namespace strata
