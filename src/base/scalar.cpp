// One element of any dtype: loads, conversions, text.
#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <limits>

#include "strata/dtype.h"

namespace strata {
namespace {

/// A value wide enough to hold any element exactly: an integer of either sign, or a complex of doubles.
struct Wide {
  bool integer = false, negative = false;
  std::uint64_t magnitude = 0;
  std::complex<double> value;
};

template <class T> T read(const unsigned char* bits) {
  T v;
  std::memcpy(&v, bits, sizeof(T));
  return v;
}

Wide signed_wide(std::int64_t v) {
  return {true, v < 0, v < 0 ? 0 - static_cast<std::uint64_t>(v) : static_cast<std::uint64_t>(v), {}};
}
Wide unsigned_wide(std::uint64_t v) { return {true, false, v, {}}; }
Wide float_wide(std::complex<double> v) { return {false, false, 0, v}; }

Wide widen(const Scalar& s) {
  const unsigned char* b = s.bits;
  switch (s.dtype) {
    case DType::f64: return float_wide(read<double>(b));
    case DType::f32: return float_wide(read<float>(b));
    case DType::f16: return float_wide(f16_to_f32(read<std::uint16_t>(b)));
    case DType::bf16: return float_wide(bf16_to_f32(read<std::uint16_t>(b)));
    case DType::f8e4m3: return float_wide(f8e4m3_to_f32(b[0]));
    case DType::f8e5m2: return float_wide(f8e5m2_to_f32(b[0]));
    case DType::i8: return signed_wide(read<std::int8_t>(b));
    case DType::i16: return signed_wide(read<std::int16_t>(b));
    case DType::i32: return signed_wide(read<std::int32_t>(b));
    case DType::i64: return signed_wide(read<std::int64_t>(b));
    case DType::u8: return unsigned_wide(b[0]);
    case DType::u16: return unsigned_wide(read<std::uint16_t>(b));
    case DType::u32: return unsigned_wide(read<std::uint32_t>(b));
    case DType::u64: return unsigned_wide(read<std::uint64_t>(b));
    case DType::boolean: return unsigned_wide(b[0] != 0);
    case DType::c64: return float_wide(read<std::complex<float>>(b));
    default: return float_wide(read<std::complex<double>>(b));
  }
}

/// The value as an integer's 64 bits: floats truncate and saturate to [least, most]; integers wrap later, as NumPy's
/// do.
std::uint64_t integer_bits(const Wide& w, std::int64_t least, std::uint64_t most) {
  if (w.integer) return w.negative ? 0 - w.magnitude : w.magnitude;
  const double x = w.value.real();
  if (std::isnan(x)) return 0;
  if (x <= static_cast<double>(least)) return static_cast<std::uint64_t>(least);
  if (x >= static_cast<double>(most)) return most;
  return x < 0 ? static_cast<std::uint64_t>(static_cast<std::int64_t>(x)) : static_cast<std::uint64_t>(x);
}

template <class T> void store_integer(Scalar& out, const Wide& w) {
  const auto bits = integer_bits(w, static_cast<std::int64_t>(std::numeric_limits<T>::min()),
                                 static_cast<std::uint64_t>(std::numeric_limits<T>::max()));
  const T v = static_cast<T>(bits);
  std::memcpy(out.bits, &v, sizeof(T));
}

template <class T> void store_bits(Scalar& out, T v) { std::memcpy(out.bits, &v, sizeof(T)); }

double real_of(const Wide& w) {
  if (!w.integer) return w.value.real();
  const auto m = static_cast<double>(w.magnitude);
  return w.negative ? -m : m;
}
float single_of(const Wide& w) {
  if (!w.integer) return static_cast<float>(w.value.real());
  const auto m = static_cast<float>(w.magnitude);
  return w.negative ? -m : m;
}

/// To f32 by rounding to odd, so that the next rounding (to 16 or 8 bits) is as if it were the only one.
float odd_single(const Wide& w) {
  // An integer above 2^53 may lose bits in a double; its lowest bits then only matter as "not exact".
  double d = real_of(w);
  if (w.integer && w.magnitude >> 53) {
    const double cut = static_cast<double>(w.magnitude & ~std::uint64_t{0xFFF});
    const bool inexact = (w.magnitude & 0xFFF) != 0;
    d = inexact ? std::bit_cast<double>(std::bit_cast<std::uint64_t>(cut) | 1) : cut;
    if (w.negative) d = -d;
  }
  const auto f = static_cast<float>(d);
  if (std::isnan(d) || std::isinf(f) || static_cast<double>(f) == d) return f;
  auto bits = std::bit_cast<std::uint32_t>(f);
  if (std::abs(static_cast<double>(f)) > std::abs(d)) --bits;  // towards zero, then make the last bit sticky
  return std::bit_cast<float>(bits | 1);
}

std::string shortest(double value, bool single) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
  const double m = std::abs(value);
  const auto style = m == 0 || (m >= 1e-5 && m < 1e16) ? std::chars_format::fixed : std::chars_format::scientific;
  char buffer[64];
  const auto r = single ? std::to_chars(buffer, buffer + sizeof buffer, static_cast<float>(value), style)
                        : std::to_chars(buffer, buffer + sizeof buffer, value, style);
  return std::string(buffer, r.ptr);
}

/// Fewest digits that read back to the same element of a small float type.
std::string shortest_small(const Scalar& s) {
  const double value = s.to_double();
  if (!std::isfinite(value)) return shortest(value, true);
  for (int digits = 1; digits < 9; ++digits) {
    char buffer[32];
    const auto r = std::to_chars(buffer, buffer + sizeof buffer, value, std::chars_format::scientific, digits - 1);
    double back = 0;
    std::from_chars(buffer, r.ptr, back);
    if (Scalar::of(back).as(s.dtype).same_bits(s)) return shortest(back, false);
  }
  return shortest(value, true);
}

}  // namespace

Scalar Scalar::load(DType t, const void* address) {
  Scalar s;
  s.dtype = t;
  std::memcpy(s.bits, address, size_of(t));
  return s;
}

Scalar Scalar::as(DType t) const {
  if (t == dtype) return *this;
  const Wide w = widen(*this);
  Scalar out = zero(t);
  switch (t) {
    case DType::f64: store_bits(out, real_of(w)); break;
    case DType::f32: store_bits(out, single_of(w)); break;
    case DType::f16: store_bits(out, f32_to_f16(odd_single(w))); break;
    case DType::bf16: store_bits(out, f32_to_bf16(odd_single(w))); break;
    case DType::f8e4m3: store_bits(out, f32_to_f8e4m3(odd_single(w))); break;
    case DType::f8e5m2: store_bits(out, f32_to_f8e5m2(odd_single(w))); break;
    case DType::i8: store_integer<std::int8_t>(out, w); break;
    case DType::i16: store_integer<std::int16_t>(out, w); break;
    case DType::i32: store_integer<std::int32_t>(out, w); break;
    case DType::i64: store_integer<std::int64_t>(out, w); break;
    case DType::u8: store_integer<std::uint8_t>(out, w); break;
    case DType::u16: store_integer<std::uint16_t>(out, w); break;
    case DType::u32: store_integer<std::uint32_t>(out, w); break;
    case DType::u64: store_integer<std::uint64_t>(out, w); break;
    case DType::boolean: out.bits[0] = w.integer ? w.magnitude != 0 : w.value != std::complex<double>(0); break;
    case DType::c64:
      store_bits(out, std::complex<float>(single_of(w), static_cast<float>(w.integer ? 0 : w.value.imag())));
      break;
    case DType::c128: store_bits(out, std::complex<double>(real_of(w), w.integer ? 0 : w.value.imag())); break;
  }
  return out;
}

std::complex<double> Scalar::to_complex() const {
  const Wide w = widen(*this);
  return w.integer ? std::complex<double>(real_of(w)) : w.value;
}

std::int64_t Scalar::to_int64() const { return read<std::int64_t>(as(DType::i64).bits); }

bool Scalar::is_zero() const {
  const Wide w = widen(*this);
  return w.integer ? w.magnitude == 0 : w.value == std::complex<double>(0);
}

bool Scalar::same_bits(const Scalar& other) const {
  return dtype == other.dtype && std::memcmp(bits, other.bits, size_of(dtype)) == 0;
}

Scalar Scalar::one(DType t) { return of(1.0).as(t); }

std::string Scalar::to_string() const {
  const Wide w = widen(*this);
  if (dtype == DType::boolean) return w.magnitude ? "true" : "false";
  if (w.integer) return (w.negative ? "-" : "") + std::to_string(w.magnitude);
  if (is_complex(dtype)) {
    const bool single = dtype == DType::c64;
    const std::string imaginary = shortest(w.value.imag(), single);
    return shortest(w.value.real(), single) + (imaginary[0] == '-' ? "" : "+") + imaginary + "j";
  }
  if (dtype == DType::f64 || dtype == DType::f32) return shortest(w.value.real(), dtype == DType::f32);
  return shortest_small(*this);
}

}  // namespace strata
