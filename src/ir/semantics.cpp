// Operations on constants, and the names of operations.
#include "ir/semantics.h"

#include <array>

#include "strata/error.h"

namespace strata::ir {
namespace {

template <class T> T value_of(const Scalar& s) {
  T v;
  std::memcpy(&v, s.bits, sizeof(T));
  return v;
}

constexpr std::array<std::string_view, 39> op_names = {"add",          "sub",        "mul",
                                                       "div",          "floor_div",  "floor_mod",
                                                       "min",          "max",        "bit_and",
                                                       "bit_or",       "bit_xor",    "shift_left",
                                                       "shift_right",  "eq",         "ne",
                                                       "lt",           "le",         "gt",
                                                       "ge",           "neg",        "bit_not",
                                                       "logical_not",  "abs",        "sqrt",
                                                       "exp",          "log",        "sin",
                                                       "cos",          "tan",        "tanh",
                                                       "erf",          "floor",      "ceil",
                                                       "round_f16",    "round_bf16", "round_f8e4m3",
                                                       "round_f8e5m2", "popcount",   "count_trailing_zeros"};
static_assert(op_names.size() == static_cast<std::size_t>(Op::count_trailing_zeros) + 1);

}  // namespace

std::string_view name_of(Op op) { return op_names[static_cast<std::size_t>(op)]; }

DType compute_dtype(DType storage) {
  switch (storage) {
    case DType::f16:
    case DType::bf16:
    case DType::f8e4m3:
    case DType::f8e5m2: return DType::f32;
    default: return storage;
  }
}

void no_such_type(DType t) { throw InternalError("ir: nothing is computed in " + std::string(name_of(t))); }

bool is_defined(Op op, DType t) {
  return with_type(t,
                   [op]<class T>(std::type_identity<T>) { return is_binary(op) ? takes<T>(op) : takes_unary<T>(op); });
}

Scalar fold_binary(Op op, const Scalar& a, const Scalar& b) {
  return with_type(a.dtype, [&]<class T>(std::type_identity<T>) {
    return with_binary(op, [&]<Op o>(std::integral_constant<Op, o>) -> Scalar {
      if constexpr (takes<T>(o)) return Scalar::of(apply<o, T>(value_of<T>(a), value_of<T>(b)));
      else throw InternalError("ir: " + std::string(name_of(op)) + " of " + std::string(name_of(a.dtype)));
    });
  });
}

Scalar fold_unary(Op op, const Scalar& a) {
  return with_type(a.dtype, [&]<class T>(std::type_identity<T>) {
    return with_unary(op, [&]<Op o>(std::integral_constant<Op, o>) -> Scalar {
      if constexpr (takes_unary<T>(o)) return Scalar::of(apply_unary<o, T>(value_of<T>(a)));
      else throw InternalError("ir: " + std::string(name_of(op)) + " of " + std::string(name_of(a.dtype)));
    });
  });
}

Scalar fold_cast(DType to, const Scalar& a) {
  return with_type(to, [&]<class To>(std::type_identity<To>) {
    return with_type(a.dtype,
                     [&]<class From>(std::type_identity<From>) { return Scalar::of(convert<To>(value_of<From>(a))); });
  });
}

Scalar fold_fma(const Scalar& a, const Scalar& b, const Scalar& c) {
  return with_type(a.dtype, [&]<class T>(std::type_identity<T>) -> Scalar {
    if constexpr (std::is_same_v<T, bool>) no_such_type(DType::boolean);
    else return Scalar::of(multiply_add<T>(value_of<T>(a), value_of<T>(b), value_of<T>(c)));
  });
}

}  // namespace strata::ir
