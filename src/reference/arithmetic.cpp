// Arithmetic on columns: NumPy's, where NumPy has it; integers by zero give 0.
#include <cmath>

#include "base/part_dtype.h"
#include "reference/column.h"
#include "reference/scalar_arithmetic.h"

namespace strata::evaluation {
namespace {

template <class T, class Out, class F>
Column map(const std::vector<T>& a, const std::vector<T>& b, DType result, const F& f) {
  Column out = zeros(result, a.size());
  auto& to = std::get<std::vector<Out>>(out.data);
  for (std::size_t k = 0; k < a.size(); ++k) to[k] = static_cast<Out>(f(a[k], b[k]));
  normalise(out);
  return out;
}
template <class T, class Out, class F>
Column map(const std::vector<T>& a, DType result, const F& f) {
  Column out = zeros(result, a.size());
  auto& to = std::get<std::vector<Out>>(out.data);
  for (std::size_t k = 0; k < a.size(); ++k) to[k] = static_cast<Out>(f(a[k]));
  normalise(out);
  return out;
}

}  // namespace

OperationType type_of(Operator op, DType t) {
  switch (op) {
    case Operator::subtract:
    case Operator::negate:
      if (t == DType::boolean) refuse(op, t);
      return {t, t};
    case Operator::divide:
      return is_float(t) || is_complex(t) ? OperationType{t, t} : OperationType{DType::f64, DType::f64};
    case Operator::floor_divide:
    case Operator::modulo:
      if (is_complex(t)) refuse(op, t);
      return t == DType::boolean ? OperationType{DType::i8, DType::i8} : OperationType{t, t};
    case Operator::minimum:
    case Operator::maximum:
    case Operator::relu:
    case Operator::reduce_max:
    case Operator::reduce_min:
      if (is_complex(t)) refuse(op, t);
      return {t, t};
    case Operator::sign:
      if (is_complex(t) || t == DType::boolean) refuse(op, t);
      return {t, t};
    case Operator::equal:
    case Operator::not_equal: return {t, DType::boolean};
    case Operator::less:
    case Operator::less_equal:
    case Operator::greater:
    case Operator::greater_equal:
      if (is_complex(t)) refuse(op, t);
      return {t, DType::boolean};
    case Operator::absolute: return {t, part_dtype(t)};
    case Operator::error_function:
      if (is_complex(t)) refuse(op, t);
      [[fallthrough]];
    case Operator::square_root:
    case Operator::exponential:
    case Operator::logarithm:
    case Operator::sine:
    case Operator::cosine:
    case Operator::tangent:
    case Operator::hyperbolic_tangent: {
      const DType f = is_float(t) || is_complex(t) ? t : promote(t, DType::f16);
      return {f, f};
    }
    default: return {t, t};
  }
}

DType type_of_reduction(Operator op, DType t, bool implicit) {
  if (op == Operator::any || op == Operator::all) return DType::boolean;
  if (op != Operator::sum) return type_of(op, t).result;
  if (implicit) return t;
  if (t == DType::boolean || is_signed_int(t)) return DType::i64;
  return is_unsigned_int(t) ? DType::u64 : t;
}

Column apply(Operator op, const Column& left, const Column& right, DType result) {
  return std::visit(
      [&](const auto& a) -> Column {
        using V = std::decay_t<decltype(a)>;
        using T = typename V::value_type;
        const V& b = std::get<V>(right.data);
        switch (op) {
          case Operator::add: return map<T, T>(a, b, result, [](T x, T y) { return add(x, y); });
          case Operator::subtract: return map<T, T>(a, b, result, [](T x, T y) { return subtract(x, y); });
          case Operator::multiply: return map<T, T>(a, b, result, [](T x, T y) { return multiply(x, y); });
          case Operator::equal: return map<T, std::int64_t>(a, b, result, [](T x, T y) { return x == y; });
          case Operator::not_equal: return map<T, std::int64_t>(a, b, result, [](T x, T y) { return x != y; });
          case Operator::divide:
            if constexpr (std::is_same_v<T, double> || std::is_same_v<T, Complex>)
              return map<T, T>(a, b, result, [](T x, T y) { return x / y; });
            break;
          default:
            if constexpr (!std::is_same_v<T, Complex>) switch (op) {
                case Operator::floor_divide:
                  return map<T, T>(a, b, result, [](T x, T y) { return floor_divide(x, y); });
                case Operator::modulo: return map<T, T>(a, b, result, [](T x, T y) { return floor_modulo(x, y); });
                case Operator::minimum: return map<T, T>(a, b, result, [](T x, T y) { return smaller(x, y); });
                case Operator::maximum: return map<T, T>(a, b, result, [](T x, T y) { return larger(x, y); });
                case Operator::less: return map<T, std::int64_t>(a, b, result, [](T x, T y) { return x < y; });
                case Operator::less_equal: return map<T, std::int64_t>(a, b, result, [](T x, T y) { return x <= y; });
                case Operator::greater: return map<T, std::int64_t>(a, b, result, [](T x, T y) { return x > y; });
                case Operator::greater_equal:
                  return map<T, std::int64_t>(a, b, result, [](T x, T y) { return x >= y; });
                default: break;
              }
        }
        throw InternalError("evaluate: no such operation on this dtype");
      },
      left.data);
}

Column apply(Operator op, const Column& operand, DType result) {
  return std::visit(
      [&](const auto& a) -> Column {
        using T = typename std::decay_t<decltype(a)>::value_type;
        switch (op) {
          case Operator::negate:
            return map<T, T>(a, result, [](T x) {
              if constexpr (std::is_integral_v<T>) return subtract(T(0), x);
              else return -x;
            });
          case Operator::conjugate:
            if constexpr (std::is_same_v<T, Complex>) return map<T, T>(a, result, [](T x) { return std::conj(x); });
            else return operand;
          case Operator::absolute:
            if constexpr (std::is_same_v<T, Complex>)
              return map<T, double>(a, result, [](T x) { return std::hypot(x.real(), x.imag()); });
            else if constexpr (std::is_same_v<T, double>) return map<T, T>(a, result, [](T x) { return std::abs(x); });
            else
              return map<T, T>(a, result, [](T x) { return std::is_signed_v<T> && x < T(0) ? subtract(T(0), x) : x; });
          default:
            if constexpr (!std::is_same_v<T, Complex>) {
              if (op == Operator::relu) return map<T, T>(a, result, [](T x) { return larger(x, T(0)); });
              if (op == Operator::sign)
                return map<T, T>(a, result, [](T x) { return x != x ? x : static_cast<T>((x > T(0)) - (x < T(0))); });
            }
            if constexpr (std::is_same_v<T, double>) {
              if (op == Operator::error_function) return map<T, T>(a, result, [](T x) { return std::erf(x); });
            }
            if constexpr (std::is_same_v<T, double> || std::is_same_v<T, Complex>) switch (op) {
                case Operator::square_root: return map<T, T>(a, result, [](T x) { return std::sqrt(x); });
                case Operator::exponential: return map<T, T>(a, result, [](T x) { return std::exp(x); });
                case Operator::logarithm: return map<T, T>(a, result, [](T x) { return std::log(x); });
                case Operator::sine: return map<T, T>(a, result, [](T x) { return std::sin(x); });
                case Operator::cosine: return map<T, T>(a, result, [](T x) { return std::cos(x); });
                case Operator::tangent: return map<T, T>(a, result, [](T x) { return std::tan(x); });
                case Operator::hyperbolic_tangent: return map<T, T>(a, result, [](T x) { return std::tanh(x); });
                default: break;
              }
        }
        throw InternalError("evaluate: no such function of this dtype");
      },
      operand.data);
}

}  // namespace strata::evaluation
