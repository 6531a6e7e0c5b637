#pragma once
// Division that floors and the remainder that goes with it, as NumPy has them. Integers: by zero gives 0, the least
// value by -1 wraps. Floats: by zero as IEEE divides, the remainder has the divisor's sign, zeros keep theirs.
#include <cmath>
#include <cstdint>
#include <type_traits>

namespace strata {

template <class T>
T floor_modulo(T a, T b) {
  if constexpr (std::is_floating_point_v<T>) {
    const T r = std::fmod(a, b);
    if (b == 0 || r != r) return r;
    if (r == 0) return std::copysign(T{0}, b);
    return (b < 0) != (r < 0) ? r + b : r;
  } else if constexpr (std::is_signed_v<T>) {
    if (b == 0 || b == -1) return 0;
    const T r = static_cast<T>(a % b);
    return static_cast<T>(r + (r != 0 && (r < 0) != (b < 0) ? b : 0));
  } else {
    return b == 0 ? T{0} : static_cast<T>(a % b);
  }
}

template <class T>
T floor_divide(T a, T b) {
  if constexpr (std::is_floating_point_v<T>) {
    if (b == 0) return a / b;
    const T r = std::fmod(a, b);
    T q = (a - r) / b;
    if (r != 0 && (b < 0) != (r < 0)) q -= 1;
    if (q == 0) return std::copysign(T{0}, a / b);
    const T floor = std::floor(q);
    return q - floor > T{0.5} ? floor + 1 : floor;
  } else if constexpr (std::is_signed_v<T>) {
    if (b == 0) return 0;
    if (b == -1)
      return static_cast<T>(0 - static_cast<std::uint64_t>(a));  // the machine's division traps on the least value
    return static_cast<T>(a / b - (a % b != 0 && (a % b < 0) != (b < 0)));
  } else {
    return b == 0 ? T{0} : static_cast<T>(a / b);
  }
}

}  // namespace strata
