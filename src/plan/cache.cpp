// Choices by structure, least recently used ones leave. Making one takes milliseconds, finding one again less than a
// microsecond.
#include <atomic>

#include "base/checked.h"
#include "base/lru_cache.h"
#include "plan/epoch.h"
#include "plan/pattern.h"
#include "plan/plan_impl.h"
#include "plan/plans_made.h"

namespace strata::planning {
namespace {

constexpr std::size_t capacity = 1024;

struct Key {
  Einsum einsum;  ///< canonical
  std::vector<TensorType> operands;
  TensorType output;
  DType compute = DType::f64;
  Epoch epoch;
  bool operator==(const Key&) const = default;
};

struct Hash {
  std::size_t operator()(const Key& k) const {
    std::size_t h = k.output.hash();
    const auto mix = [&h](std::size_t v) { h = (h ^ v) * 0x9E3779B97F4A7C15ull, h ^= h >> 29; };
    for (const auto& t : k.operands) mix(t.hash());
    for (const auto& o : k.einsum.operands)
      for (int i : o) mix(static_cast<std::size_t>(i));
    for (int i : k.einsum.output) mix(static_cast<std::size_t>(i) + 64);
    mix(static_cast<std::size_t>(k.compute));
    return h;
  }
};

using Cache = LruCache<Key, Key, ChoicePtr, Hash>;

Cache& cache() {
  static Cache& c = *new Cache(capacity);  // never destroyed: plans may be made while the program ends
  return c;
}

std::atomic<std::int64_t> made{0};

/// Made when the library is loaded: a fork in the middle of its making would leave the child waiting for the end of it.
[[maybe_unused]] const Cache& made_early = cache();

}  // namespace

ChoicePtr choice_for(const Einsum& e, std::span<const TensorType> operands, const TensorType& output, DType compute) {
  Key key{canonical(e), {operands.begin(), operands.end()}, output, compute, Epoch::now()};
  if (auto found = cache().find(key)) return std::move(*found);
  made.fetch_add(1, std::memory_order_relaxed);
  auto choice = std::make_shared<Choice>();
  choice->product = {normalise(e, operands), key.operands, output, compute, pattern_operand(operands, output)};
  if (choice->product.pattern_of >= 0) {
    choice->runner = choose_in_pattern(choice->product, choice->reports);
  } else {
    choice->runner = choose(choice->product, choice->reports);
    RawArrays none;
    none.values.dtype = output.dtype;
    choice->fresh = make_tensor(output.format, output.shape, std::move(none), {}, false).part();
    choice->size = checked_product(output.shape).value();
  }
  cache().insert(std::move(key), choice);
  return choice;
}

std::int64_t plans_made() { return made.load(std::memory_order_relaxed); }

}  // namespace strata::planning
