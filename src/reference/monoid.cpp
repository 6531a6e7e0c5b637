// How elements combine into one.
#include <cmath>
#include <limits>

#include "base/sum_in_pairs.h"
#include "reference/scalar_arithmetic.h"
#include "reference/semiring_arithmetic.h"

namespace strata::evaluation {
namespace {

template <class T>
T combine_two(Monoid::Kind m, T a, T b, bool boolean) {
  switch (m) {
    case Monoid::plus: return boolean ? T((a != T()) || (b != T())) : add(a, b);
    case Monoid::either: return T((a != T()) || (b != T()));
    case Monoid::both: return T((a != T()) && (b != T()));
    case Monoid::first: return a;
    default:
      if constexpr (std::is_same_v<T, Complex>) return a;
      else return m == Monoid::minimum ? smaller(a, b) : larger(a, b);
  }
}

/// Of max (low) or min.
Column infinity(bool low, DType t) {
  Column out = zeros(t, 1);
  if (auto* d = std::get_if<std::vector<double>>(&out.data)) {
    (*d)[0] = low ? -std::numeric_limits<double>::infinity() : std::numeric_limits<double>::infinity();
    normalise(out);
  } else if (auto* u = std::get_if<std::vector<Unsigned>>(&out.data)) {
    (*u)[0] = low ? 0 : std::numeric_limits<Unsigned>::max();
  } else {
    auto& i = std::get<std::vector<std::int64_t>>(out.data)[0];
    if (t == DType::boolean) i = low ? 0 : 1;
    else if (low) i = is_unsigned_int(t) ? 0 : -index_max(t) - 1;
    else i = index_max(t);
  }
  return out;
}

/// As a user wrote it; infinities as those of min and max.
Column identity_of_user(double zero, DType t) {
  if (std::isinf(zero) && is_integer(t)) return infinity(zero < 0, t);
  const Column wide = of_scalar(Scalar::of(zero));
  Column out = cast(wide, t);
  if (!is_complex(t) && !is_float(t) && !(cast(out, DType::f64).data == wide.data))
    throw DTypeError({.what = "the additive identity of the semiring does not fit the operands",
                      .expected = "a number of dtype " + std::string(name_of(t)),
                      .got = Scalar::of(zero).to_string(),
                      .fix = "give operands of float64"});
  return out;
}

}  // namespace

Monoid addition(const Semiring& s) {
  switch (s.kind()) {
    case Semiring::plus_times: return Monoid::plus;
    case Semiring::min_plus: return Monoid::minimum;
    case Semiring::max_plus:
    case Semiring::max_times: return Monoid::maximum;
    case Semiring::or_and: return Monoid::either;
    case Semiring::any: return Monoid::first;
    default: return Monoid(s);
  }
}

Column combine(const Monoid& m, const Column& c, std::span<const std::int64_t> starts) {
  if (m == Monoid::user) return fold(m.definition().add, c, starts);
  const std::size_t groups = starts.size() - 1;
  Column out = zeros(c.dtype, groups);
  const bool boolean = c.dtype == DType::boolean;
  std::visit(
      [&](auto& to) {
        const auto& from = std::get<std::decay_t<decltype(to)>>(c.data);
        for (std::size_t g = 0; g < groups; ++g)
          to[g] = sum_in_pairs(
              starts[g], starts[g + 1], [&](std::int64_t k) { return from[static_cast<std::size_t>(k)]; },
              [&](auto a, auto b) { return combine_two(m.kind(), a, b, boolean); });
      },
      out.data);
  return out;
}

Column combine(const Monoid& m, const Column& a, const Column& b) {
  if (m == Monoid::user) return apply(m.definition().add, a, b);
  Column out = a;
  const bool boolean = a.dtype == DType::boolean;
  std::visit(
      [&](auto& to) {
        const auto& other = std::get<std::decay_t<decltype(to)>>(b.data);
        for (std::size_t k = 0; k < to.size(); ++k) to[k] = combine_two(m.kind(), to[k], other[k], boolean);
      },
      out.data);
  return out;
}

Column identity(const Monoid& m, DType t) {
  if (m == Monoid::user) return identity_of_user(m.definition().zero, t);
  if (m == Monoid::both) return cast(of_scalar(Scalar::one(t)), t);
  if (!(m == Monoid::minimum) && !(m == Monoid::maximum)) return zeros(t, 1);
  const bool low = m == Monoid::maximum;  // of max it is the least value
  if (is_complex(t)) refuse(low ? Operator::reduce_max : Operator::reduce_min, t);
  return infinity(low, t);
}

Column times(const Column& value, std::span<const std::int64_t> count) {
  Column out = zeros(value.dtype, count.size());
  std::visit(
      [&](auto& to) {
        using T = typename std::decay_t<decltype(to)>::value_type;
        const T x = std::get<std::decay_t<decltype(to)>>(value.data)[0];
        for (std::size_t k = 0; k < to.size(); ++k) {
          if (count[k] == 0) to[k] = T();
          else if constexpr (std::is_integral_v<T>)
            to[k] = value.dtype == DType::boolean ? x : multiply(x, static_cast<T>(count[k]));
          else to[k] = x * static_cast<double>(count[k]);
        }
      },
      out.data);
  return out;
}

}  // namespace strata::evaluation
