// Names and promotion of dtypes. Source of the rules: NumPy's promote_types (NEP 50 leaves them as they are for
// arrays).
#include "strata/dtype.h"

#include <algorithm>
#include <array>
#include <bit>
#include <limits>
#include <optional>

#include "base/dtype_name.h"
#include "base/part_dtype.h"
#include "base/suggest.h"
#include "strata/error.h"

namespace strata {
namespace {

constexpr std::array<std::string_view, dtype_count> names = {
    "float64", "float32", "float16", "bfloat16", "float8_e4m3fn", "float8_e5m2", "int8",      "int16",     "int32",
    "int64",   "uint8",   "uint16",  "uint32",   "uint64",        "bool",        "complex64", "complex128"};
constexpr std::array<std::string_view, dtype_count> short_names = {"f64", "f32", "f16",     "bf16", "f8e4m3", "f8e5m2",
                                                                   "i8",  "i16", "i32",     "i64",  "u8",     "u16",
                                                                   "u32", "u64", "boolean", "c64",  "c128"};

bool is_small_float(DType t) { return t >= DType::f16 && t <= DType::f8e5m2; }

DType signed_of_size(std::size_t bytes) {
  return bytes <= 1 ? DType::i8 : bytes == 2 ? DType::i16 : bytes == 4 ? DType::i32 : DType::i64;
}

/// NumPy's codes: a kind and its bytes, "f4", behind the byte order where that is told, "<f4"; "?" is bool.
std::optional<DType> parse_code(std::string_view code) {
  if (const auto first = code.find_first_not_of("<>=|"); first == 1) code.remove_prefix(1);
  if (code == "?" || code == "b1") return DType::boolean;
  if (code.size() < 2) return std::nullopt;
  for (int k = 0; k < dtype_count; ++k) {
    const auto t = static_cast<DType>(k);
    if (t == DType::boolean || t == DType::bf16 || t == DType::f8e4m3 || t == DType::f8e5m2) continue;
    if (code[0] == name_of(t)[0] && code.substr(1) == std::to_string(size_of(t))) return t;
  }
  return std::nullopt;
}

void refuse_byte_order(std::string_view name, DType t) {
  const char other = std::endian::native == std::endian::little ? '>' : '<';
  if (name[0] == other && size_of(t) > 1)
    throw DTypeError({.what = "'" + std::string(name) + "' is of another byte order than this machine",
                      .expected = std::string(name_of(t)),
                      .got = std::string(name),
                      .fix = "write '" + std::string(name_of(t)) + "'"});
}

/// The smallest float that NumPy lets hold every value of an integer type.
DType float_for(DType integer) {
  if (integer == DType::boolean || size_of(integer) == 1) return DType::f16;
  return size_of(integer) == 2 ? DType::f32 : DType::f64;
}

DType promote_integers(DType a, DType b) {
  if (a == DType::boolean) return b;
  if (b == DType::boolean) return a;
  if (is_signed_int(a) == is_signed_int(b)) return size_of(a) >= size_of(b) ? a : b;
  const DType s = is_signed_int(a) ? a : b, u = is_signed_int(a) ? b : a;
  if (size_of(s) > size_of(u)) return s;
  return size_of(u) == 8 ? DType::f64 : signed_of_size(2 * size_of(u));
}

/// Both are f16, f32 or f64.
DType wider_float(DType a, DType b) { return size_of(a) >= size_of(b) ? a : b; }

}  // namespace

std::string_view name_of(DType t) { return names[static_cast<std::size_t>(t)]; }

bool is_dtype_name(std::string_view name) {
  return std::ranges::find(names, name) != names.end() || std::ranges::find(short_names, name) != short_names.end() ||
         parse_code(name);
}

DType parse_dtype(std::string_view name) {
  if (name == "i8" || name == "u8") {
    const std::string kind = name == "i8" ? "int" : "uint", code = "<" + std::string(name);
    throw DTypeError({.what = "'" + std::string(name) + "' counts bits to some and bytes to NumPy",
                      .expected = kind + "8 or " + kind + "64",
                      .got = std::string(name),
                      .fix = "write '" + kind + "8' or '" + kind + "64' (NumPy's '" + code + "')"});
  }
  for (std::size_t i = 0; i < names.size(); ++i)
    if (name == names[i] || name == short_names[i]) return static_cast<DType>(i);
  if (name == "float8_e4m3") return DType::f8e4m3;
  if (const auto t = parse_code(name)) {
    refuse_byte_order(name, *t);
    return *t;
  }
  std::string all;
  for (auto n : names) all += (all.empty() ? "" : ", ") + std::string(n);
  const auto close = closest(name, names);
  throw DTypeError({.what = "no dtype '" + std::string(name) + "'",
                    .expected = all,
                    .got = std::string(name),
                    .fix = close.empty() ? "" : "write '" + std::string(close) + "'"});
}

DType promote(DType a, DType b) {
  if (a == b) return a;
  if (is_complex(a) || is_complex(b)) {
    const auto part = [](DType t) { return t == DType::boolean ? DType::f16 : part_dtype(t); };
    return promote(part(a), part(b)) == DType::f64 ? DType::c128 : DType::c64;
  }
  if (!is_float(a) && !is_float(b)) return promote_integers(a, b);
  if (a == DType::boolean) return b;
  if (b == DType::boolean) return a;
  if ((a == DType::bf16 && is_small_float(b)) || (b == DType::bf16 && is_small_float(a))) return DType::f32;
  const auto as_float = [](DType t) { return is_small_float(t) ? DType::f16 : is_float(t) ? t : float_for(t); };
  const DType wide = wider_float(as_float(a), as_float(b));
  // A byte fits bf16 as well as it fits f16: bf16 stays itself there.
  return wide == DType::f16 && (a == DType::bf16 || b == DType::bf16) ? DType::bf16 : wide;
}

bool can_cast(DType from, DType to) {
  const auto kind = [](DType t) {
    return t == DType::boolean ? 0 : is_unsigned_int(t) ? 1 : is_signed_int(t) ? 2 : is_float(t) ? 3 : 4;
  };
  return kind(from) <= kind(to);
}

std::int64_t index_max(DType t) {
  switch (t) {
    case DType::i8: return std::numeric_limits<std::int8_t>::max();
    case DType::i16: return std::numeric_limits<std::int16_t>::max();
    case DType::i32: return std::numeric_limits<std::int32_t>::max();
    case DType::i64: return std::numeric_limits<std::int64_t>::max();
    case DType::u8: return std::numeric_limits<std::uint8_t>::max();
    case DType::u16: return std::numeric_limits<std::uint16_t>::max();
    case DType::u32: return std::numeric_limits<std::uint32_t>::max();
    case DType::u64: return std::numeric_limits<std::int64_t>::max();
    default:
      throw DTypeError({.what = "an index cannot be " + std::string(name_of(t)),
                        .expected = "int8, int16, int32, int64, uint8, uint16, uint32 or uint64",
                        .got = std::string(name_of(t))});
  }
}

}  // namespace strata
