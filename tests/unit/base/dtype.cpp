#include "strata/dtype.h"

#include <doctest/doctest.h>

#include <bit>
#include <cmath>
#include <concepts>
#include <functional>
#include <limits>

#include "base/dtype_name.h"
#include "strata/error.h"

using namespace strata;

TEST_CASE("names of dtypes read back") {
  for (int i = 0; i < dtype_count; ++i) {
    const auto t = static_cast<DType>(i);
    CHECK(parse_dtype(name_of(t)) == t);
  }
  CHECK(parse_dtype("bf16") == DType::bf16);
  try {
    parse_dtype("flaot64");
    FAIL("accepted");
  } catch (const DTypeError& e) {
    CHECK(e.problem().what == "no dtype 'flaot64'");
    CHECK(e.problem().fix == "write 'float64'");
  }
  CHECK_THROWS_AS(index_max(DType::f32), DTypeError);
  CHECK(index_max(DType::u16) == 65535);
}

TEST_CASE("NumPy's codes of dtypes, and what has two meanings") {
  const std::pair<const char*, DType> codes[] = {
      {"f2", DType::f16},  {"f4", DType::f32}, {"f8", DType::f64}, {"i1", DType::i8},     {"<i8", DType::i64},
      {"=u8", DType::u64}, {"|u1", DType::u8}, {"c8", DType::c64}, {"<c16", DType::c128}, {"?", DType::boolean}};
  for (const auto& [code, t] : codes) {
    CAPTURE(code);
    CHECK(parse_dtype(code) == t);
    CHECK(is_dtype_name(code));
  }
  for (const char* code : {"i8", "u8"}) {
    CHECK(is_dtype_name(code));
    CHECK_THROWS_AS(parse_dtype(code), DTypeError);
  }
  for (const char* wrong : {"", "<", "f", "f3", "<f16", "<<f4", "i16x", "x4", "CSR"}) {
    CAPTURE(wrong);
    CHECK(!is_dtype_name(wrong));
    CHECK_THROWS_AS(parse_dtype(wrong), DTypeError);
  }
  CHECK_THROWS_AS(parse_dtype(std::endian::native == std::endian::little ? ">f8" : "<f8"), DTypeError);
}

TEST_CASE("C++'s integers go by their size") {
  static_assert(dtype_of<long long>() == DType::i64 && dtype_of<unsigned long long>() == DType::u64);
  static_assert(dtype_of<long>() == (sizeof(long) == 8 ? DType::i64 : DType::i32));
  static_assert(dtype_of<int>() == DType::i32 && dtype_of<unsigned>() == DType::u32);
  static_assert(dtype_of<signed char>() == DType::i8 && dtype_of<unsigned char>() == DType::u8);
  static_assert(dtype_of<char>() == (std::signed_integral<char> ? DType::i8 : DType::u8));
  const long long four = 4;
  CHECK(Scalar::of(four).to_int64() == 4);
}

TEST_CASE("promotion is NumPy's") {
  const auto is = [](const char* a, const char* b, const char* expected) {
    CAPTURE(a);
    CAPTURE(b);
    CHECK(name_of(promote(parse_dtype(a), parse_dtype(b))) == expected);
    CHECK(name_of(promote(parse_dtype(b), parse_dtype(a))) == expected);
  };
  // np.promote_types
  is("int8", "uint8", "int16"), is("int8", "uint16", "int32"), is("int16", "uint32", "int64"),
      is("int64", "uint64", "float64");
  is("int32", "uint8", "int32"), is("uint8", "uint32", "uint32"), is("bool", "int8", "int8"),
      is("bool", "float16", "float16");
  is("int8", "float16", "float16"), is("int16", "float16", "float32"), is("int32", "float16", "float64"),
      is("int32", "float32", "float64");
  is("int16", "float32", "float32"), is("uint16", "float32", "float32"), is("float16", "float32", "float32"),
      is("float32", "float64", "float64");
  is("complex64", "float32", "complex64"), is("complex64", "float64", "complex128"),
      is("complex64", "int32", "complex128");
  is("complex64", "int16", "complex64"), is("bool", "complex64", "complex64"),
      is("complex64", "complex128", "complex128");
  // beyond NumPy
  is("bfloat16", "bfloat16", "bfloat16"), is("bfloat16", "float16", "float32"), is("bfloat16", "float32", "float32"),
      is("bool", "bfloat16", "bfloat16");
  is("bfloat16", "int32", "float64"), is("float8_e4m3fn", "float8_e5m2", "float16"),
      is("float8_e5m2", "float16", "float16"), is("bfloat16", "complex64", "complex64");
}

namespace {
/// Nearest element of an 8 or 16-bit float by search among all of them; ties to the even one.
template <class Bits> void check_rounding(Bits (*encode)(float), float (*decode)(Bits), float x, int count) {
  double best = std::numeric_limits<double>::infinity();
  int best_bits = -1;
  for (int b = 0; b < count; ++b) {
    const float v = decode(static_cast<Bits>(b));
    if (!std::isfinite(v) || std::signbit(v) != std::signbit(x)) continue;
    const double d = std::abs(static_cast<double>(v) - static_cast<double>(x));
    if (d < best || (d == best && b % 2 == 0)) best = d, best_bits = b;
  }
  CAPTURE(x);
  CHECK(static_cast<int>(encode(x)) == best_bits);
}
}  // namespace

TEST_CASE("small floats: every element survives, every other number goes to the nearest") {
  for (int b = 0; b < 256; ++b) {
    const auto byte = static_cast<std::uint8_t>(b);
    if (const float v = f8e4m3_to_f32(byte); std::isnan(v)) CHECK((b & 0x7F) == 0x7F);
    else CHECK(f32_to_f8e4m3(v) == byte);
    if (const float v = f8e5m2_to_f32(byte); std::isfinite(v)) CHECK(f32_to_f8e5m2(v) == byte);
  }
  for (int b = 0; b < 65536; ++b) {
    const auto word = static_cast<std::uint16_t>(b);
    if (const float v = f16_to_f32(word); !std::isnan(v)) REQUIRE(f32_to_f16(v) == word);
    if (const float v = bf16_to_f32(word); !std::isnan(v)) REQUIRE(f32_to_bf16(v) == word);
  }
  CHECK(f8e4m3_to_f32(0x7E) == 448.0f);
  CHECK(f8e5m2_to_f32(0x7B) == 57344.0f);
  CHECK(f16_to_f32(0x7BFF) == 65504.0f);
  CHECK(f16_to_f32(1) == std::ldexp(1.0f, -24));
  CHECK(std::isinf(f16_to_f32(f32_to_f16(65520.0f))));
  CHECK(f16_to_f32(f32_to_f16(65519.0f)) == 65504.0f);
  const float infinity = std::numeric_limits<float>::infinity();
  CHECK(f8e4m3_to_f32(f32_to_f8e4m3(1e9f)) == 448.0f);
  CHECK(f8e5m2_to_f32(f32_to_f8e5m2(-infinity)) == -57344.0f);
  CHECK(std::isnan(f8e5m2_to_f32(f32_to_f8e5m2(NAN))));
  CHECK(std::isnan(f16_to_f32(f32_to_f16(NAN))));
  CHECK(std::isnan(bf16_to_f32(f32_to_bf16(std::bit_cast<float>(0x7F800001u)))));
  std::uint32_t random = 12345;
  for (int k = 0; k < 3000; ++k) {
    random = random * 1664525u + 1013904223u;
    const float x =
        std::ldexp(static_cast<float>(static_cast<std::int32_t>(random)), -31 - static_cast<int>(random % 23) + 12);
    check_rounding<std::uint8_t>(f32_to_f8e4m3, f8e4m3_to_f32, x, 256);
    check_rounding<std::uint8_t>(f32_to_f8e5m2, f8e5m2_to_f32, x, 256);
    if (k < 30) check_rounding<std::uint16_t>(f32_to_f16, f16_to_f32, x, 65536);
    if (k < 30) check_rounding<std::uint16_t>(f32_to_bf16, bf16_to_f32, x, 65536);
  }
}

TEST_CASE("scalars convert by value and print the shortest text") {
  CHECK(Scalar::of(3.9).as(DType::i32).to_int64() == 3);
  CHECK(Scalar::of(-3.9).as(DType::i8).to_int64() == -3);
  CHECK(Scalar::of(1e30).as(DType::i32).to_int64() == 2147483647);
  CHECK(Scalar::of(-1e30).as(DType::u8).to_int64() == 0);
  CHECK(Scalar::of(300).as(DType::u8).to_int64() == 44);  // integers wrap, as NumPy's do
  CHECK(Scalar::of(std::uint64_t{1} << 63).to_double() == 9223372036854775808.0);
  CHECK(Scalar::of(std::int64_t{9007199254740993}).to_int64() == 9007199254740993);
  CHECK(Scalar::of(-2.5).as(DType::boolean).to_string() == "true");
  CHECK(Scalar::of(std::complex<double>(1, 2)).as(DType::f32).to_double() == 1);
  // 2049 + 2^-30 lies above the middle of two halves, and its float does not: one rounding, not two
  CHECK(Scalar::of(2049.0 + std::ldexp(1.0, -30)).as(DType::f16).to_double() == 2050);
  CHECK(Scalar::of(2049.0).as(DType::f16).to_double() == 2048);
  CHECK(Scalar::of((std::int64_t{257} << 54) + 1).as(DType::bf16).to_double() == std::ldexp(258.0, 54));
  CHECK(Scalar::of(1.0).to_string() == "1");
  CHECK(Scalar::of(100000.0).to_string() == "100000");
  CHECK(Scalar::of(0.1f).to_string() == "0.1");
  CHECK(Scalar::of(0.1).as(DType::f16).to_string() == "0.1");
  CHECK(Scalar::of(1e300).to_string() == "1e+300");
  CHECK(Scalar::of(-0.0).to_string() == "-0");
  CHECK(Scalar::of(NAN).to_string() == "nan");
  CHECK(Scalar::of(std::complex<double>(1, -2.5)).to_string() == "1-2.5j");
  CHECK(Scalar::of(std::int8_t{-128}).to_string() == "-128");
  CHECK(Scalar::of(-0.0).is_zero());
  CHECK_FALSE(Scalar::of(-0.0) == Scalar::of(0.0));
  CHECK(Scalar::of(-0.0).as(DType::f16).to_string() == "-0");
  for (int i = 0; i < dtype_count; ++i) {
    const auto t = static_cast<DType>(i);
    CHECK(Scalar::one(t).to_double() == 1);
    CHECK(Scalar::zero(t).is_zero());
  }
}
