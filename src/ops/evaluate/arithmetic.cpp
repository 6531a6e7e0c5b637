// Arithmetic on columns: NumPy's, where NumPy has it; integers by zero give 0.
#include <cmath>
#include <limits>

#include "ops/evaluate/column.h"

namespace strata::evaluation {
namespace {

using Unsigned = std::uint64_t;

[[noreturn]] void refuse(Operator op, DType t) {
  throw DTypeError({.what = "'" + std::string(name_of(op)) + "' of " + std::string(name_of(t)) + " values",
                    .expected = is_complex(t) ? "real numbers" : "numbers",
                    .got = std::string(name_of(t))});
}

double floor_divide(double a, double b) {
  if (b == 0) return a / b;
  const double mod = std::fmod(a, b);
  double div = (a - mod) / b;
  if (mod != 0 && (b < 0) != (mod < 0)) div -= 1;
  if (div == 0) return std::copysign(0.0, a / b);
  const double floor = std::floor(div);
  return div - floor > 0.5 ? floor + 1 : floor;
}
double modulo(double a, double b) {
  const double mod = std::fmod(a, b);
  if (b == 0 || std::isnan(mod)) return mod;
  if (mod == 0) return std::copysign(0.0, b);
  return (b < 0) != (mod < 0) ? mod + b : mod;
}
std::int64_t floor_divide(std::int64_t a, std::int64_t b) {
  if (b == 0) return 0;
  if (b == -1) return static_cast<std::int64_t>(0 - static_cast<Unsigned>(a));
  return a / b - (a % b != 0 && (a % b < 0) != (b < 0));
}
std::int64_t modulo(std::int64_t a, std::int64_t b) {
  if (b == 0 || b == -1) return 0;
  const std::int64_t r = a % b;
  return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}
Unsigned floor_divide(Unsigned a, Unsigned b) { return b == 0 ? 0 : a / b; }
Unsigned modulo(Unsigned a, Unsigned b) { return b == 0 ? 0 : a % b; }

/// Integers add and multiply as unsigned ones: they wrap.
template <class T>
T add(T a, T b) {
  if constexpr (std::is_same_v<T, std::int64_t>)
    return static_cast<T>(static_cast<Unsigned>(a) + static_cast<Unsigned>(b));
  else
    return a + b;
}
template <class T>
T subtract(T a, T b) {
  if constexpr (std::is_same_v<T, std::int64_t>)
    return static_cast<T>(static_cast<Unsigned>(a) - static_cast<Unsigned>(b));
  else
    return a - b;
}
template <class T>
T multiply(T a, T b) {
  if constexpr (std::is_same_v<T, std::int64_t>)
    return static_cast<T>(static_cast<Unsigned>(a) * static_cast<Unsigned>(b));
  else if constexpr (std::is_same_v<T, Complex>)  // the plain formula, as NumPy: C++'s restores infinities
    return {a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real()};
  else
    return a * b;
}
/// NaN stays.
template <class T>
T smaller(T a, T b) {
  if constexpr (std::is_same_v<T, double>)
    return std::isnan(a) || a <= b ? a : b;
  else
    return a <= b ? a : b;
}
template <class T>
T larger(T a, T b) {
  if constexpr (std::is_same_v<T, double>)
    return std::isnan(a) || a >= b ? a : b;
  else
    return a >= b ? a : b;
}

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
    case Operator::not_equal:
      return {t, DType::boolean};
    case Operator::less:
    case Operator::less_equal:
    case Operator::greater:
    case Operator::greater_equal:
      if (is_complex(t)) refuse(op, t);
      return {t, DType::boolean};
    case Operator::absolute:
      return {t, t == DType::c64 ? DType::f32 : t == DType::c128 ? DType::f64 : t};
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
    default:
      return {t, t};
  }
}

Column apply(Operator op, const Column& left, const Column& right, DType result) {
  return std::visit(
      [&](const auto& a) -> Column {
        using V = std::decay_t<decltype(a)>;
        using T = typename V::value_type;
        const V& b = std::get<V>(right.data);
        switch (op) {
          case Operator::add:
            return map<T, T>(a, b, result, [](T x, T y) { return add(x, y); });
          case Operator::subtract:
            return map<T, T>(a, b, result, [](T x, T y) { return subtract(x, y); });
          case Operator::multiply:
            return map<T, T>(a, b, result, [](T x, T y) { return multiply(x, y); });
          case Operator::equal:
            return map<T, std::int64_t>(a, b, result, [](T x, T y) { return x == y; });
          case Operator::not_equal:
            return map<T, std::int64_t>(a, b, result, [](T x, T y) { return x != y; });
          case Operator::divide:
            if constexpr (std::is_same_v<T, double> || std::is_same_v<T, Complex>)
              return map<T, T>(a, b, result, [](T x, T y) { return x / y; });
            break;
          default:
            if constexpr (!std::is_same_v<T, Complex>) switch (op) {
                case Operator::floor_divide:
                  return map<T, T>(a, b, result, [](T x, T y) { return floor_divide(x, y); });
                case Operator::modulo:
                  return map<T, T>(a, b, result, [](T x, T y) { return modulo(x, y); });
                case Operator::minimum:
                  return map<T, T>(a, b, result, [](T x, T y) { return smaller(x, y); });
                case Operator::maximum:
                  return map<T, T>(a, b, result, [](T x, T y) { return larger(x, y); });
                case Operator::less:
                  return map<T, std::int64_t>(a, b, result, [](T x, T y) { return x < y; });
                case Operator::less_equal:
                  return map<T, std::int64_t>(a, b, result, [](T x, T y) { return x <= y; });
                case Operator::greater:
                  return map<T, std::int64_t>(a, b, result, [](T x, T y) { return x > y; });
                case Operator::greater_equal:
                  return map<T, std::int64_t>(a, b, result, [](T x, T y) { return x >= y; });
                default:
                  break;
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
              if constexpr (std::is_integral_v<T>)
                return subtract(T(0), x);
              else
                return -x;
            });
          case Operator::conjugate:
            if constexpr (std::is_same_v<T, Complex>)
              return map<T, T>(a, result, [](T x) { return std::conj(x); });
            else
              return operand;
          case Operator::absolute:
            if constexpr (std::is_same_v<T, Complex>)
              return map<T, double>(a, result, [](T x) { return std::hypot(x.real(), x.imag()); });
            else if constexpr (std::is_same_v<T, double>)
              return map<T, T>(a, result, [](T x) { return std::abs(x); });
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
                case Operator::square_root:
                  return map<T, T>(a, result, [](T x) { return std::sqrt(x); });
                case Operator::exponential:
                  return map<T, T>(a, result, [](T x) { return std::exp(x); });
                case Operator::logarithm:
                  return map<T, T>(a, result, [](T x) { return std::log(x); });
                case Operator::sine:
                  return map<T, T>(a, result, [](T x) { return std::sin(x); });
                case Operator::cosine:
                  return map<T, T>(a, result, [](T x) { return std::cos(x); });
                case Operator::tangent:
                  return map<T, T>(a, result, [](T x) { return std::tan(x); });
                case Operator::hyperbolic_tangent:
                  return map<T, T>(a, result, [](T x) { return std::tanh(x); });
                default:
                  break;
              }
        }
        throw InternalError("evaluate: no such function of this dtype");
      },
      operand.data);
}

namespace {

template <class T>
T combine_two(Monoid m, T a, T b, bool boolean) {
  switch (m) {
    case Monoid::plus:
      return boolean ? T((a != T()) || (b != T())) : add(a, b);
    case Monoid::either:
      return T((a != T()) || (b != T()));
    case Monoid::both:
      return T((a != T()) && (b != T()));
    case Monoid::first:
      return a;
    default:
      if constexpr (std::is_same_v<T, Complex>)
        return a;
      else
        return m == Monoid::minimum ? smaller(a, b) : larger(a, b);
  }
}

}  // namespace

Column combine(Monoid m, const Column& c, std::span<const std::int64_t> starts) {
  const std::size_t groups = starts.size() - 1;
  Column out = zeros(c.dtype, groups);
  const bool boolean = c.dtype == DType::boolean;
  std::visit(
      [&](auto& to) {
        const auto& from = std::get<std::decay_t<decltype(to)>>(c.data);
        for (std::size_t g = 0; g < groups; ++g) {
          auto x = from[static_cast<std::size_t>(starts[g])];
          for (auto k = starts[g] + 1; k < starts[g + 1]; ++k)
            x = combine_two(m, x, from[static_cast<std::size_t>(k)], boolean);
          to[g] = x;
        }
      },
      out.data);
  return out;
}

Column combine(Monoid m, const Column& a, const Column& b) {
  Column out = a;
  const bool boolean = a.dtype == DType::boolean;
  std::visit(
      [&](auto& to) {
        const auto& other = std::get<std::decay_t<decltype(to)>>(b.data);
        for (std::size_t k = 0; k < to.size(); ++k) to[k] = combine_two(m, to[k], other[k], boolean);
      },
      out.data);
  return out;
}

Column identity(Monoid m, DType t) {
  Column out = zeros(t, 1);
  if (m == Monoid::both) return cast(of_scalar(Scalar::one(t)), t);
  if (m != Monoid::minimum && m != Monoid::maximum) return out;
  const bool low = m == Monoid::maximum;  // of max it is the least value
  if (is_complex(t)) refuse(low ? Operator::reduce_max : Operator::reduce_min, t);
  if (auto* d = std::get_if<std::vector<double>>(&out.data)) {
    (*d)[0] = low ? -std::numeric_limits<double>::infinity() : std::numeric_limits<double>::infinity();
    normalise(out);
  } else if (auto* u = std::get_if<std::vector<Unsigned>>(&out.data)) {
    (*u)[0] = low ? 0 : std::numeric_limits<Unsigned>::max();
  } else {
    auto& i = std::get<std::vector<std::int64_t>>(out.data)[0];
    if (t == DType::boolean)
      i = low ? 0 : 1;
    else if (low)
      i = is_unsigned_int(t) ? 0 : -index_max(t) - 1;
    else
      i = index_max(t);
  }
  return out;
}

Column times(const Column& value, std::span<const std::int64_t> count) {
  Column out = zeros(value.dtype, count.size());
  std::visit(
      [&](auto& to) {
        using T = typename std::decay_t<decltype(to)>::value_type;
        const T x = std::get<std::decay_t<decltype(to)>>(value.data)[0];
        for (std::size_t k = 0; k < to.size(); ++k) {
          if (count[k] == 0)
            to[k] = T();
          else if constexpr (std::is_integral_v<T>)
            to[k] = value.dtype == DType::boolean ? x : multiply(x, static_cast<T>(count[k]));
          else
            to[k] = x * static_cast<double>(count[k]);
        }
      },
      out.data);
  return out;
}

}  // namespace strata::evaluation
