#pragma once
// What each operation does to one lane. Constant folding and the interpreter share it, so they cannot disagree; the
// emitted text is tested against it.
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "base/division.h"
#include "ir/ir.h"
#include "strata/dtype.h"

namespace strata::ir {

/// Calls f(std::type_identity<T>{}) for the C++ type of a computed dtype. Throws InternalError for storage-only and
/// complex ones.
template <class F> decltype(auto) with_type(DType t, F&& f);
[[noreturn]] void no_such_type(DType t);

constexpr bool is_compare(Op op) { return op >= Op::eq && op <= Op::ge; }
constexpr bool is_binary(Op op) { return op <= Op::ge; }

/// Is the binary operation defined for elements of T?
template <class T> constexpr bool takes(Op op) {
  if (is_compare(op) || op == Op::min || op == Op::max) return true;
  const bool bits = op == Op::bit_and || op == Op::bit_or || op == Op::bit_xor;
  if constexpr (std::is_same_v<T, bool>) return bits;
  if constexpr (std::is_floating_point_v<T>) return (op >= Op::add && op <= Op::floor_mod);
  return is_binary(op) && op != Op::div;
}

/// Is the unary operation defined for elements of T?
template <class T> constexpr bool takes_unary(Op op) {
  switch (op) {
    case Op::neg:
    case Op::abs: return !std::is_same_v<T, bool>;
    case Op::bit_not: return std::is_integral_v<T> && !std::is_same_v<T, bool>;
    case Op::logical_not: return std::is_same_v<T, bool>;
    case Op::popcount:
    case Op::count_trailing_zeros: return std::is_integral_v<T> && sizeof(T) == 8;
    case Op::round_f16:
    case Op::round_bf16:
    case Op::round_f8e4m3:
    case Op::round_f8e5m2: return std::is_same_v<T, float>;
    default: return !is_binary(op) && std::is_floating_point_v<T>;
  }
}

/// T, or bool for comparisons.
template <Op op, class T> auto apply(T a, T b) {
  if constexpr (op == Op::eq) return a == b;
  else if constexpr (op == Op::ne) return a != b;
  else if constexpr (op == Op::lt) return a < b;
  else if constexpr (op == Op::le) return a <= b;
  else if constexpr (op == Op::gt) return a > b;
  else if constexpr (op == Op::ge) return a >= b;
  else if constexpr (op == Op::min) return a < b ? a : b;
  else if constexpr (op == Op::max) return a > b ? a : b;
  else if constexpr (std::is_floating_point_v<T>) {
    if constexpr (op == Op::add) return a + b;
    else if constexpr (op == Op::sub) return a - b;
    else if constexpr (op == Op::mul) return a * b;
    else if constexpr (op == Op::div) return a / b;
    else if constexpr (op == Op::floor_div) return floor_divide(a, b);
    else return floor_modulo(a, b);
  } else if constexpr (op == Op::floor_div) return floor_divide(a, b);
  else if constexpr (op == Op::floor_mod) return floor_modulo(a, b);
  else {
    // In 64 bits without sign nothing overflows; the cast wraps.
    const auto x = static_cast<std::uint64_t>(a), y = static_cast<std::uint64_t>(b);
    constexpr std::uint64_t last_bit = 8 * sizeof(T) - 1;
    if constexpr (op == Op::add) return static_cast<T>(x + y);
    else if constexpr (op == Op::sub) return static_cast<T>(x - y);
    else if constexpr (op == Op::mul) return static_cast<T>(x * y);
    else if constexpr (op == Op::bit_and) return static_cast<T>(x & y);
    else if constexpr (op == Op::bit_or) return static_cast<T>(x | y);
    else if constexpr (op == Op::bit_xor) return static_cast<T>(x ^ y);
    else if constexpr (op == Op::shift_left) return static_cast<T>(x << (y & last_bit));
    else {
      static_assert(op == Op::shift_right);
      constexpr std::uint64_t width_mask = ~std::uint64_t{0} >> (63 - last_bit);
      return static_cast<T>((x & width_mask) >> (y & last_bit));
    }
  }
}

/// T, or i64 for counts.
template <Op op, class T> auto apply_unary(T a) {
  if constexpr (op == Op::logical_not) return !a;
  else if constexpr (op == Op::bit_not) return static_cast<T>(~a);
  else if constexpr (op == Op::popcount) return static_cast<std::int64_t>(std::popcount(static_cast<std::uint64_t>(a)));
  else if constexpr (op == Op::count_trailing_zeros)
    return static_cast<std::int64_t>(std::countr_zero(static_cast<std::uint64_t>(a)));
  else if constexpr (std::is_integral_v<T>) {
    const auto negated = static_cast<T>(0 - static_cast<std::uint64_t>(a));
    if constexpr (op == Op::neg) return negated;
    else return a < 0 ? negated : a;
  } else if constexpr (op == Op::neg) return -a;
  else if constexpr (op == Op::abs) return std::fabs(a);
  else if constexpr (op == Op::sqrt) return std::sqrt(a);
  else if constexpr (op == Op::exp) return std::exp(a);
  else if constexpr (op == Op::log) return std::log(a);
  else if constexpr (op == Op::sin) return std::sin(a);
  else if constexpr (op == Op::cos) return std::cos(a);
  else if constexpr (op == Op::tan) return std::tan(a);
  else if constexpr (op == Op::tanh) return std::tanh(a);
  else if constexpr (op == Op::erf) return std::erf(a);
  else if constexpr (op == Op::round_f16) return f16_to_f32(f32_to_f16(a));
  else if constexpr (op == Op::round_bf16) return bf16_to_f32(f32_to_bf16(a));
  else if constexpr (op == Op::round_f8e4m3) return f8e4m3_to_f32(f32_to_f8e4m3(a));
  else if constexpr (op == Op::round_f8e5m2) return f8e5m2_to_f32(f32_to_f8e5m2(a));
  else if constexpr (op == Op::floor) return std::floor(a);
  else return std::ceil(a);
}

template <class To, class From> To convert(From a) {
  if constexpr (std::is_same_v<To, bool>) return a != 0;
  else if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To>) {
    const double x = a;
    if (std::isnan(x)) return 0;
    if (x <= static_cast<double>(std::numeric_limits<To>::min())) return std::numeric_limits<To>::min();
    if (x >= static_cast<double>(std::numeric_limits<To>::max())) return std::numeric_limits<To>::max();
    return static_cast<To>(x);
  } else {
    return static_cast<To>(a);
  }
}

template <class T> T multiply_add(T a, T b, T c) {
  if constexpr (std::is_floating_point_v<T>) return std::fma(a, b, c);
  else return apply<Op::add, T>(apply<Op::mul, T>(a, b), c);
}

template <class F> decltype(auto) with_type(DType t, F&& f) {
  switch (t) {
    case DType::f64: return f(std::type_identity<double>{});
    case DType::f32: return f(std::type_identity<float>{});
    case DType::i8: return f(std::type_identity<std::int8_t>{});
    case DType::i16: return f(std::type_identity<std::int16_t>{});
    case DType::i32: return f(std::type_identity<std::int32_t>{});
    case DType::i64: return f(std::type_identity<std::int64_t>{});
    case DType::u8: return f(std::type_identity<std::uint8_t>{});
    case DType::u16: return f(std::type_identity<std::uint16_t>{});
    case DType::u32: return f(std::type_identity<std::uint32_t>{});
    case DType::u64: return f(std::type_identity<std::uint64_t>{});
    case DType::boolean: return f(std::type_identity<bool>{});
    default: no_such_type(t);
  }
}

/// Calls f(std::integral_constant<Op, op>{}): turns a value into a template argument.
// clang-format off
#define STRATA_CASE(name) case Op::name: return f(std::integral_constant<Op, Op::name>{});
template <class F> decltype(auto) with_binary(Op op, F&& f) {
  switch (op) {
    STRATA_CASE(add) STRATA_CASE(sub) STRATA_CASE(mul) STRATA_CASE(div) STRATA_CASE(floor_div) STRATA_CASE(floor_mod)
    STRATA_CASE(min) STRATA_CASE(max) STRATA_CASE(bit_and) STRATA_CASE(bit_or) STRATA_CASE(bit_xor)
    STRATA_CASE(shift_left) STRATA_CASE(shift_right) STRATA_CASE(eq) STRATA_CASE(ne) STRATA_CASE(lt) STRATA_CASE(le)
    STRATA_CASE(gt) default: return f(std::integral_constant<Op, Op::ge>{});
  }
}
template <class F> decltype(auto) with_unary(Op op, F&& f) {
  switch (op) {
    STRATA_CASE(neg) STRATA_CASE(bit_not) STRATA_CASE(logical_not) STRATA_CASE(abs) STRATA_CASE(sqrt) STRATA_CASE(exp)
    STRATA_CASE(log) STRATA_CASE(sin) STRATA_CASE(cos) STRATA_CASE(tan) STRATA_CASE(tanh) STRATA_CASE(erf)
    STRATA_CASE(floor) STRATA_CASE(ceil) STRATA_CASE(round_f16) STRATA_CASE(round_bf16) STRATA_CASE(round_f8e4m3)
    STRATA_CASE(round_f8e5m2) STRATA_CASE(popcount)
    default: return f(std::integral_constant<Op, Op::count_trailing_zeros>{});
  }
}
#undef STRATA_CASE
// clang-format on

/// Does the operation exist for this dtype? (At run time; unary and binary alike.)
bool is_defined(Op op, DType t);
/// The value of an operation on constants. The arguments have equal dtypes for which it is defined.
Scalar fold_binary(Op op, const Scalar& a, const Scalar& b);
Scalar fold_unary(Op op, const Scalar& a);
Scalar fold_cast(DType to, const Scalar& a);
Scalar fold_fma(const Scalar& a, const Scalar& b, const Scalar& c);

}  // namespace strata::ir
