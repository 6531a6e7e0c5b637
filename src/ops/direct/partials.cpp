// Loops that scatter into a dense result: a few results beside each other, each of its own chunk, combined in their
// order.
#include "backend/pool.h"
#include "base/checked.h"
#include "execute/combine.h"
#include "ops/direct/run.h"

namespace strata::direct {
namespace {

using merging::Combine;

constexpr i64 partial_work = 32768;  ///< visits that are worth a result of their own
constexpr i64 most_partials = 8;
constexpr i64 most_samples = 1024;  ///< of a factor that chooses
constexpr i64 slice = 16384;        ///< values that a thread combines at a time

}  // namespace

i64 Run::partials() const {
  if (!o_.dense_result || !input_.summed[0] || in_parts() || u_.others || u_.combine == Combine::first ||
      !u_.strides.empty())
    return 1;
  Shape shape;
  for (int i : u_.output) shape.push_back(u_.extents[static_cast<std::size_t>(i)]);
  const auto n = checked_product(shape);
  if (!n || *n == 0) return 1;
  const auto most_of = [&](double visits) {
    const i64 work = static_cast<i64>(std::min(visits, 1e15));
    return std::min({work / 4 / *n, work / partial_work, most_partials, extents_[0]});
  };
  if (most_of(o_.visits) <= 1) return 1;
  const i64 most = most_of(o_.visits * chosen_share());
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
      for (i64 s = 0; s < samples; ++s)
        chosen += static_cast<const T*>(p.values.data)[p.values_offset + all / samples * s * p.strides[0]] != nothing;
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
      execution::combine_some(u_.compute, u_.combine, results.data,
                              static_cast<const char*>(results.data) + p * n * width, s * slice,
                              std::min(n, (s + 1) * slice));
  });
  results.size = n;
}

}  // namespace strata::direct
