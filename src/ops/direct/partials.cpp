// Loops that scatter into a dense result: a few results beside each other, each of its own chunk, combined in their order.
#include <complex>

#include "backend/pool.h"
#include "base/checked.h"
#include "ops/direct/run.h"

namespace strata::direct {
namespace {

using merging::Combine;

constexpr i64 partial_work = 32768;  ///< visits that are worth a result of their own
constexpr i64 most_partials = 8;
constexpr i64 most_samples = 1024;   ///< of a factor that chooses
constexpr i64 slice = 16384;         ///< values that a thread combines at a time

template <class T, class F> void each(void* to, const void* from, i64 begin, i64 end, const F& f) {
  T* a = static_cast<T*>(to);
  const T* b = static_cast<const T*>(from);
  for (i64 k = begin; k < end; ++k) a[k] = f(a[k], b[k]);
}

/// As generated code does it: integers wrap, NaN wins.
template <class T> void combine_as(Combine combine, void* to, const void* from, i64 begin, i64 end) {
  using Wrapping = std::conditional_t<std::is_integral_v<T>, std::uint64_t, T>;
  switch (combine) {
    case Combine::minimum: return each<T>(to, from, begin, end, [](T a, T b) { return a <= b || a != a ? a : b; });
    case Combine::maximum: return each<T>(to, from, begin, end, [](T a, T b) { return a >= b || a != a ? a : b; });
    default: return each<T>(to, from, begin, end, [](T a, T b) { return static_cast<T>(static_cast<Wrapping>(a) + static_cast<Wrapping>(b)); });
  }
}

void combine_some(DType t, Combine combine, void* to, const void* from, i64 begin, i64 end) {
  switch (t) {
    case DType::f32: return combine_as<float>(combine, to, from, begin, end);
    case DType::f64: return combine_as<double>(combine, to, from, begin, end);
    case DType::i8: return combine_as<std::int8_t>(combine, to, from, begin, end);
    case DType::i16: return combine_as<std::int16_t>(combine, to, from, begin, end);
    case DType::i32: return combine_as<std::int32_t>(combine, to, from, begin, end);
    case DType::i64: return combine_as<std::int64_t>(combine, to, from, begin, end);
    case DType::u8: return combine_as<std::uint8_t>(combine, to, from, begin, end);
    case DType::u16: return combine_as<std::uint16_t>(combine, to, from, begin, end);
    case DType::u32: return combine_as<std::uint32_t>(combine, to, from, begin, end);
    case DType::u64: return combine_as<std::uint64_t>(combine, to, from, begin, end);
    case DType::c64: return each<std::complex<float>>(to, from, begin, end, std::plus<>());
    case DType::c128: return each<std::complex<double>>(to, from, begin, end, std::plus<>());
    default:  // truth values: a byte each
      return combine == Combine::both ? each<std::uint8_t>(to, from, begin, end, [](std::uint8_t a, std::uint8_t b) { return static_cast<std::uint8_t>(a & b); })
                                      : each<std::uint8_t>(to, from, begin, end, [](std::uint8_t a, std::uint8_t b) { return static_cast<std::uint8_t>(a | b); });
  }
}

}  // namespace

i64 Run::partials() const {
  if (!o_.dense_result || !input_.summed[0] || in_parts() || u_.others || u_.combine == Combine::first || !u_.strides.empty()) return 1;
  Shape shape;
  for (int i : u_.output) shape.push_back(u_.extents[static_cast<std::size_t>(i)]);
  const auto n = checked_product(shape);
  if (!n || *n == 0) return 1;
  const i64 work = static_cast<i64>(std::min(o_.visits, 1e15) * chosen_share());
  const i64 most = std::min({work / 4 / *n, work / partial_work, most_partials, extents_[0]});
  // How floats are summed must not depend on the threads; the least of numbers is the same in any order.
  const bool any_order = u_.combine != Combine::plus || is_integer(u_.compute);
  return std::max<i64>(1, any_order ? std::min<i64>(most, thread_count()) : most);
}

double Run::chosen_share() const {
  double share = 1;
  for (std::size_t n = 0; n < u_.nodes.size(); ++n) {
    if (!merging::annihilates(input_, static_cast<int>(n))) continue;
    const auto k = static_cast<std::size_t>(u_.nodes[n].operand);
    if (!input_.operands[k].dense || input_.operands[k].vars != std::vector<int>{0}) continue;
    const Part& p = tensors_[k].part();
    const i64 all = extents_[0], samples = std::min(all, most_samples);
    const auto count = [&]<class T>(T nothing) {
      i64 chosen = 0;
      for (i64 s = 0; s < samples; ++s) chosen += static_cast<const T*>(p.values.data)[p.values_offset + all / samples * s * p.strides[0]] != nothing;
      share = std::min(share, static_cast<double>(chosen) / static_cast<double>(samples));
    };
    if (tensors_[k].dtype() == DType::boolean) count(std::uint8_t{0});
    else if (tensors_[k].dtype() == DType::f32) count(static_cast<float>(u_.absent.to_double()));
    else if (tensors_[k].dtype() == DType::f64) count(u_.absent.to_double());
  }
  return share;
}

void Run::combine_partials(Buffer& results, i64 n) const {
  const auto width = static_cast<i64>(size_of(u_.compute));
  const i64 count = results.size / n;
  parallel_for(ceil_div(n, slice), [&](i64 s) {
    for (i64 p = 1; p < count; ++p)
      combine_some(u_.compute, u_.combine, results.data, static_cast<const char*>(results.data) + p * n * width, s * slice, std::min(n, (s + 1) * slice));
  });
  results.size = n;
}

}  // namespace strata::direct
