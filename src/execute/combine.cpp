// Two vectors of results become one.
#include "execute/combine.h"

#include <complex>
#include <functional>

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
template <class T> void combine_as(Combine combine, const Range& r) {
  using Wrapping = std::conditional_t<std::is_integral_v<T>, std::uint64_t, T>;
  switch (combine) {
    case Combine::minimum: return each<T>(r, [](T a, T b) { return a <= b || a != a ? a : b; });
    case Combine::maximum: return each<T>(r, [](T a, T b) { return a >= b || a != a ? a : b; });
    default:
      return each<T>(r, [](T a, T b) { return static_cast<T>(static_cast<Wrapping>(a) + static_cast<Wrapping>(b)); });
  }
}

}  // namespace

void combine_some(DType t, Combine combine, void* to, const void* from, i64 begin, i64 end, bool from_first) {
  const Range r{to, from, begin, end, from_first};
  switch (t) {
    case DType::f32: return combine_as<float>(combine, r);
    case DType::f64: return combine_as<double>(combine, r);
    case DType::i8: return combine_as<std::int8_t>(combine, r);
    case DType::i16: return combine_as<std::int16_t>(combine, r);
    case DType::i32: return combine_as<std::int32_t>(combine, r);
    case DType::i64: return combine_as<std::int64_t>(combine, r);
    case DType::u8: return combine_as<std::uint8_t>(combine, r);
    case DType::u16: return combine_as<std::uint16_t>(combine, r);
    case DType::u32: return combine_as<std::uint32_t>(combine, r);
    case DType::u64: return combine_as<std::uint64_t>(combine, r);
    case DType::c64: return each<std::complex<float>>(r, std::plus<>());
    case DType::c128: return each<std::complex<double>>(r, std::plus<>());
    default:  // truth values: a byte each
      return combine == Combine::both
                 ? each<std::uint8_t>(r,
                                      [](std::uint8_t a, std::uint8_t b) { return static_cast<std::uint8_t>(a & b); })
                 : each<std::uint8_t>(r,
                                      [](std::uint8_t a, std::uint8_t b) { return static_cast<std::uint8_t>(a | b); });
  }
}

}  // namespace strata::execution
