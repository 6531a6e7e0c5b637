#pragma once
// Which slots hold no more than the fill.
#include <array>
#include <bit>
#include <cstdint>
#include <cstring>

#include "strata/dtype.h"

namespace strata {

/// Does a value, moved as an unsigned number of its width (16 bytes: a pair), say no more than the fill? The very bits,
/// and where the fill is zero, which has no sign, zeros of either sign (unless `exact`).
template <class T> class IsFill {
 public:
  explicit IsFill(const Scalar& fill, bool exact = false) {
    std::memcpy(&fill_, fill.bits, sizeof(T));
    Scalar counted;  // which bits count
    std::memset(counted.bits, 0xFF, sizeof counted.bits);
    if (!exact && fill.is_zero() && (is_float(fill.dtype) || is_complex(fill.dtype))) {
      const std::size_t part = is_complex(fill.dtype) ? sizeof(T) / 2 : sizeof(T);
      for (std::size_t end = part; end <= sizeof(T); end += part) counted.bits[end - 1] = 0x7F;  // the sign lies on top
    }
    std::memcpy(&counted_, counted.bits, sizeof(T));
  }
  bool operator()(T x) const {
    if constexpr (sizeof(T) <= 8) {
      return static_cast<T>(x & counted_) == fill_;
    } else {
      using Words = std::array<std::uint64_t, 2>;
      const auto value = std::bit_cast<Words>(x), counted = std::bit_cast<Words>(counted_),
                 fill = std::bit_cast<Words>(fill_);
      return (value[0] & counted[0]) == fill[0] && (value[1] & counted[1]) == fill[1];
    }
  }

 private:
  T fill_, counted_;
};

/// A fill that is zero is +0: absent elements have no sign.
inline Scalar as_fill(const Scalar& value) { return value.is_zero() ? Scalar::zero(value.dtype) : value; }

}  // namespace strata
