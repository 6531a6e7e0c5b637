// Two vectors of results become one.
#include "execute/combine.h"

#include <algorithm>
#include <complex>
#include <functional>

#include "backend/pool.h"
#include "base/checked.h"
#include "base/sum_in_pairs.h"

namespace strata::execution {
namespace {

using i64 = std::int64_t;
using merging::Combine;

struct Range {
  void* to;
  const void* from;
  i64 begin, end;
  bool from_first;
};

template <class T, class F> void each(const Range& r, const F& f) {
  T* a = static_cast<T*>(r.to);
  const T* b = static_cast<const T*>(r.from);
  if (r.from_first)
    for (i64 k = r.begin; k < r.end; ++k) a[k] = f(b[k], a[k]);
  else
    for (i64 k = r.begin; k < r.end; ++k) a[k] = f(a[k], b[k]);
}

/// As generated code does it: integers wrap, NaN wins.
struct Add {
  template <class T> T operator()(T a, T b) const {
    if constexpr (std::is_integral_v<T>)
      return static_cast<T>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
    else return a + b;
  }
};

/// Calls f with a zero of the dtype and how two of its values combine.
template <class F> void with_combine(DType t, Combine combine, const F& f) {
  const auto number = [&](auto zero) {
    if (combine == Combine::minimum) f(zero, [](auto a, auto b) { return a <= b || a != a ? a : b; });
    else if (combine == Combine::maximum) f(zero, [](auto a, auto b) { return a >= b || a != a ? a : b; });
    else f(zero, Add());
  };
  switch (t) {
    case DType::f32: return number(float());
    case DType::f64: return number(double());
    case DType::i8: return number(std::int8_t());
    case DType::i16: return number(std::int16_t());
    case DType::i32: return number(std::int32_t());
    case DType::i64: return number(std::int64_t());
    case DType::u8: return number(std::uint8_t());
    case DType::u16: return number(std::uint16_t());
    case DType::u32: return number(std::uint32_t());
    case DType::u64: return number(std::uint64_t());
    case DType::c64: return f(std::complex<float>(), Add());
    case DType::c128: return f(std::complex<double>(), Add());
    default:  // truth values: a byte each
      if (combine == Combine::both) f(std::uint8_t(), [](auto a, auto b) { return static_cast<decltype(a)>(a & b); });
      else f(std::uint8_t(), [](auto a, auto b) { return static_cast<decltype(a)>(a | b); });
  }
}

template <class T> auto wide(T x) {
  if constexpr (std::is_same_v<T, float>) return static_cast<double>(x);
  else if constexpr (std::is_same_v<T, std::complex<float>>) return std::complex<double>(x);
  else return x;
}

}  // namespace

void combine_some(DType t, Combine combine, void* to, const void* from, i64 begin, i64 end, bool from_first) {
  with_combine(t, combine, [&]<class T>(T, const auto& two) { each<T>({to, from, begin, end, from_first}, two); });
}

void combine_results(Buffer& results, i64 size, Combine combine) {
  constexpr i64 slice = 16384;  // values that a thread combines at a time
  const i64 count = results.size / size, step = size * static_cast<i64>(size_of(results.dtype));
  auto* first = static_cast<char*>(results.data);
  if (size == 1)
    with_combine(results.dtype, combine, [&]<class T>(T, const auto& two) {
      const T* parts = static_cast<const T*>(results.data);
      Scalar::of(static_cast<T>(sum_in_pairs(0, count, [&](i64 k) { return wide(parts[k]); }, two))).store(first);
    });
  else
    parallel_for(ceil_div(size, slice), [&](i64 s) {
      for (i64 p = 1; p < count; ++p)
        combine_some(results.dtype, combine, first, first + p * step, s * slice, std::min(size, (s + 1) * slice));
    });
  results.size = size;
}

}  // namespace strata::execution
