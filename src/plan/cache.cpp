// Choices by structure, least recently used ones leave. Making one takes milliseconds, finding one again less than a
// microsecond.
#include <list>
#include <mutex>
#include <unordered_map>

#include "base/checked.h"
#include "base/fork_mutex.h"
#include "plan/epoch.h"
#include "plan/pattern.h"
#include "plan/plan_impl.h"

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

/// The lock is held across fork: a child never finds it taken by a thread that it does not have.
struct Cache {
  std::mutex& mutex = fork_mutex<Cache>();
  std::list<std::pair<const Key*, ChoicePtr>> recent;  // newest first
  std::unordered_map<Key, std::list<std::pair<const Key*, ChoicePtr>>::iterator, Hash> map;

  ChoicePtr find(const Key& key) {
    const std::lock_guard lock(mutex);
    const auto it = map.find(key);
    if (it == map.end()) return nullptr;
    recent.splice(recent.begin(), recent, it->second);
    return it->second->second;
  }
  void insert(Key key, ChoicePtr choice) {
    ChoicePtr leaving;  // released after the lock: its kernel may wait for Python, or for a fork
    const std::lock_guard lock(mutex);
    const auto [it, fresh] = map.try_emplace(std::move(key));
    if (!fresh) return;  // another thread was faster
    recent.emplace_front(&it->first, std::move(choice));
    it->second = recent.begin();
    if (map.size() <= capacity) return;
    const Key* oldest = recent.back().first;
    leaving = std::move(recent.back().second);
    recent.pop_back();
    map.erase(map.find(*oldest));
  }
};

Cache& cache() {
  static Cache& c = *new Cache;  // never destroyed: plans may be made while the program ends
  return c;
}

/// Made when the library is loaded: a fork in the middle of its making would leave the child waiting for the end of it.
[[maybe_unused]] const Cache& made_early = cache();

}  // namespace

ChoicePtr choice_for(const Einsum& e, std::span<const TensorType> operands, const TensorType& output, DType compute) {
  Key key{canonical(e), {operands.begin(), operands.end()}, output, compute, Epoch::now()};
  if (ChoicePtr found = cache().find(key)) return found;
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

}  // namespace strata::planning
