#pragma once
// Element types of values and of index arrays.
#include <complex>
#include <concepts>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace strata {

/// Element types. f16, bf16 and fp8 are storage types: arithmetic happens in f32. u16..u64 serve as index types
/// and as values alike. Sources: IEEE 754-2019; OCP 8-bit floating point (e4m3fn, e5m2).
// clang-format off
enum class DType : std::uint8_t {
  f64, f32, f16, bf16, f8e4m3, f8e5m2, i8, i16, i32, i64, u8, u16, u32, u64, boolean, c64, c128
};
// clang-format on
inline constexpr int dtype_count = 17;

constexpr std::size_t size_of(DType t) {
  constexpr std::uint8_t bytes[dtype_count] = {8, 4, 2, 2, 1, 1, 1, 2, 4, 8, 1, 2, 4, 8, 1, 8, 16};
  return bytes[static_cast<int>(t)];
}
constexpr bool is_complex(DType t) { return t == DType::c64 || t == DType::c128; }
constexpr bool is_float(DType t) { return t <= DType::f8e5m2; }
constexpr bool is_signed_int(DType t) { return t >= DType::i8 && t <= DType::i64; }
constexpr bool is_unsigned_int(DType t) { return t >= DType::u8 && t <= DType::u64; }
constexpr bool is_integer(DType t) { return is_signed_int(t) || is_unsigned_int(t); }
/// Types that may hold positions and coordinates: i8..i64, u8..u64.
constexpr bool is_index(DType t) { return is_integer(t); }

/// NumPy's names: "float64", "bfloat16", "float8_e4m3fn", "bool", "complex64", ...
std::string_view name_of(DType t);
/// Accepts NumPy's names and ours ("f64"), and NumPy's codes ("f4", "<i8", "?"). DTypeError, with a suggestion: no such
/// name; "i8" and "u8" alone, which count bits here and bytes in NumPy; another byte order than the machine's.
DType parse_dtype(std::string_view name);
/// NumPy's promotion of two dtypes (bf16/fp8: with themselves stay, otherwise as f16 would; f16 with bf16 is f32).
DType promote(DType a, DType b);
/// NumPy's casting="same_kind": to a wider dtype, within a kind, or to a later one of bool, unsigned, signed, float,
/// complex.
bool can_cast(DType from, DType to);
/// The largest value an integer index type can hold, as int64 (u64: INT64_MAX).
std::int64_t index_max(DType t);

/// C++ type of an index or value dtype that C++ has. f16, bf16, fp8 have none: use load/store below. char, and those of
/// long and long long that are no std::int64_t, go by their size.
template <class T> constexpr DType dtype_of() {
  static_assert(std::same_as<T, char> || std::same_as<T, long> || std::same_as<T, unsigned long> ||
                    std::same_as<T, long long> || std::same_as<T, unsigned long long>,
                "no dtype has this C++ type");
  constexpr int log2 = sizeof(T) == 1 ? 0 : sizeof(T) == 4 ? 2 : 3;
  return static_cast<DType>(static_cast<int>(std::signed_integral<T> ? DType::i8 : DType::u8) + log2);
}
template <> constexpr DType dtype_of<double>() { return DType::f64; }
template <> constexpr DType dtype_of<float>() { return DType::f32; }
template <> constexpr DType dtype_of<std::int8_t>() { return DType::i8; }
template <> constexpr DType dtype_of<std::int16_t>() { return DType::i16; }
template <> constexpr DType dtype_of<std::int32_t>() { return DType::i32; }
template <> constexpr DType dtype_of<std::int64_t>() { return DType::i64; }
template <> constexpr DType dtype_of<std::uint8_t>() { return DType::u8; }
template <> constexpr DType dtype_of<std::uint16_t>() { return DType::u16; }
template <> constexpr DType dtype_of<std::uint32_t>() { return DType::u32; }
template <> constexpr DType dtype_of<std::uint64_t>() { return DType::u64; }
template <> constexpr DType dtype_of<bool>() { return DType::boolean; }
template <> constexpr DType dtype_of<std::complex<float>>() { return DType::c64; }
template <> constexpr DType dtype_of<std::complex<double>>() { return DType::c128; }

/// Storage-only floats <-> f32, bit for bit (round to nearest even; fp8 saturates, NaN stays NaN).
float f16_to_f32(std::uint16_t bits);
std::uint16_t f32_to_f16(float value);
float bf16_to_f32(std::uint16_t bits);
std::uint16_t f32_to_bf16(float value);
float f8e4m3_to_f32(std::uint8_t bits);
std::uint8_t f32_to_f8e4m3(float value);
float f8e5m2_to_f32(std::uint8_t bits);
std::uint8_t f32_to_f8e5m2(float value);

/// One element of any dtype, as its bits.
struct Scalar {
  DType dtype = DType::f64;
  alignas(16) unsigned char bits[16] = {};

  Scalar() = default;
  template <class T> static Scalar of(T value) {
    Scalar s;
    s.dtype = dtype_of<T>();
    std::memcpy(s.bits, &value, sizeof(T));
    return s;
  }
  /// The element at `address` (any alignment).
  static Scalar load(DType t, const void* address);
  void store(void* address) const { std::memcpy(address, bits, size_of(dtype)); }
  /// Value conversion as NumPy's astype (complex to real drops the imaginary part, float to int truncates; out of range
  /// saturates).
  Scalar as(DType t) const;
  std::complex<double> to_complex() const;
  double to_double() const { return to_complex().real(); }
  std::int64_t to_int64() const;
  bool is_zero() const;  ///< equal to 0 by value (so -0.0 too)
  bool same_bits(const Scalar& other) const;
  bool operator==(const Scalar& other) const { return same_bits(other); }
  static Scalar zero(DType t) {
    Scalar s;
    s.dtype = t;
    return s;
  }
  static Scalar one(DType t);
  /// The shortest text that reads back to the same value ("1", "0.5", "1+2j", "nan").
  std::string to_string() const;
};

}  // namespace strata
