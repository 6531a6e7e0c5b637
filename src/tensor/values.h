#pragma once
// Arithmetic and moves of values of any dtype: as little as storage needs.
#include <complex>
#include <type_traits>

#include "strata/dtype.h"

namespace strata {

/// Calls f(tag) with a type that knows how to load, add and store one dtype: Tag::Wide is what sums run in.
template <DType D, class Bits, class WideType> struct ValueTag {
  using Storage = Bits;
  using Wide = WideType;
  static constexpr DType dtype = D;
};

template <class F> decltype(auto) with_value_type(DType t, F&& f) {
  switch (t) {
    case DType::f64: return f(ValueTag<DType::f64, double, double>{});
    case DType::f32: return f(ValueTag<DType::f32, float, float>{});
    case DType::f16: return f(ValueTag<DType::f16, std::uint16_t, float>{});
    case DType::bf16: return f(ValueTag<DType::bf16, std::uint16_t, float>{});
    case DType::f8e4m3: return f(ValueTag<DType::f8e4m3, std::uint8_t, float>{});
    case DType::f8e5m2: return f(ValueTag<DType::f8e5m2, std::uint8_t, float>{});
    // Integers wrap, so signed ones add as unsigned.
    case DType::i8:
    case DType::u8: return f(ValueTag<DType::u8, std::uint8_t, std::uint8_t>{});
    case DType::i16:
    case DType::u16: return f(ValueTag<DType::u16, std::uint16_t, std::uint16_t>{});
    case DType::i32:
    case DType::u32: return f(ValueTag<DType::u32, std::uint32_t, std::uint32_t>{});
    case DType::i64:
    case DType::u64: return f(ValueTag<DType::u64, std::uint64_t, std::uint64_t>{});
    case DType::boolean: return f(ValueTag<DType::boolean, std::uint8_t, std::uint8_t>{});
    case DType::c64: return f(ValueTag<DType::c64, std::complex<float>, std::complex<float>>{});
    default: return f(ValueTag<DType::c128, std::complex<double>, std::complex<double>>{});
  }
}

template <class Tag> typename Tag::Wide widen_value(typename Tag::Storage v) {
  if constexpr (Tag::dtype == DType::f16) return f16_to_f32(v);
  else if constexpr (Tag::dtype == DType::bf16) return bf16_to_f32(v);
  else if constexpr (Tag::dtype == DType::f8e4m3) return f8e4m3_to_f32(v);
  else if constexpr (Tag::dtype == DType::f8e5m2) return f8e5m2_to_f32(v);
  else return v;
}
template <class Tag> typename Tag::Storage narrow_value(typename Tag::Wide v) {
  if constexpr (Tag::dtype == DType::f16) return f32_to_f16(v);
  else if constexpr (Tag::dtype == DType::bf16) return f32_to_bf16(v);
  else if constexpr (Tag::dtype == DType::f8e4m3) return f32_to_f8e4m3(v);
  else if constexpr (Tag::dtype == DType::f8e5m2) return f32_to_f8e5m2(v);
  else return v;
}
template <class Tag> typename Tag::Wide add_values(typename Tag::Wide a, typename Tag::Wide b) {
  if constexpr (Tag::dtype == DType::boolean) return (a | b) != 0;
  else return static_cast<typename Tag::Wide>(a + b);
}

/// Calls f(T{}) with an unsigned type of this width, for code that only moves bits (16 bytes: a pair).
struct Bits16 {
  std::uint64_t low, high;
  bool operator==(const Bits16&) const = default;
};
template <class F> decltype(auto) with_width(std::size_t bytes, F&& f) {
  switch (bytes) {
    case 1: return f(std::uint8_t{});
    case 2: return f(std::uint16_t{});
    case 4: return f(std::uint32_t{});
    case 8: return f(std::uint64_t{});
    default: return f(Bits16{});
  }
}

}  // namespace strata
