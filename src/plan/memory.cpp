// Plans by all that planning reads; the least recently used ones leave. Making one takes milliseconds, finding one
// again less than a microsecond, and of those that a thread asked for last far less than that.
#include "plan/memory.h"

#include <array>
#include <atomic>
#include <variant>

#include "base/checked.h"
#include "base/lru_cache.h"

namespace strata::planning {
namespace {

constexpr std::size_t capacity = 1024;

struct Hash {
  std::size_t operator()(const Key& k) const { return k.hash(); }
};
using Cache = LruCache<Key, Key, std::variant<ChoicePtr, PlannedPtr>, Hash>;

Cache& cache() {
  static Cache& c = *new Cache(capacity);  // never destroyed: plans may be made while the program ends
  return c;
}

/// Made when the library is loaded: a fork in the middle of its making would leave the child waiting for the end of it.
[[maybe_unused]] const Cache& made_early = cache();

template <class Ptr> Ptr find(const Key& key) {
  const auto found = cache().find(key);
  return found ? std::get<Ptr>(*found) : nullptr;
}

std::atomic<std::int64_t> choices{0}, programs{0};

/// The last plans that a thread asked for, which are found without a lock, and without a copy of what is asked.
class RecentPlans {
 public:
  /// The one before is looked at first.
  template <class F> const PlannedPtr* find(const Asking& asking, const F& serves) {
    for (std::size_t n = 0; n < entries_.size(); ++n) {
      const std::size_t at = (last_ + n) % entries_.size();
      const Entry& e = entries_[at];
      if (!e.plan || !e.plan->key.answers(asking, e.einsum ? &*e.einsum : nullptr) || !serves(*e.plan)) continue;
      last_ = at;
      return &e.plan;
    }
    return nullptr;
  }
  void keep(const Asking& asking, PlannedPtr plan) {
    last_ = next_++ % entries_.size();
    entries_[last_] = {asking.einsum ? std::optional(*asking.einsum) : std::nullopt, std::move(plan)};
  }

 private:
  struct Entry {
    std::optional<Einsum> einsum;  ///< as it was asked
    PlannedPtr plan;
  };
  std::array<Entry, 16> entries_;
  std::size_t next_ = 0, last_ = 0;
};

}  // namespace

PlannedPtr plan_for(const Asking& asking, const std::function<Planned(Key, const Counts&)>& make) {
  thread_local RecentPlans recent;
  std::optional<Counts> counted;
  const auto counts = [&]() -> const Counts& {
    if (asking.counts) return *asking.counts;
    if (!counted) counted = counts_of(asking.tensors);
    return *counted;
  };
  // Who says what is known of operands wants to hear of it again, whether it decides or not.
  const bool counts_matter = asking.counts != nullptr;
  const auto serves = [&](const Planned& p) {
    return counts_matter ? p.counts == *asking.counts : p.by_types || are_counts_of(asking.tensors, p.counts);
  };
  if (const PlannedPtr* known = recent.find(asking, serves)) return *known;
  Key key(asking);
  PlannedPtr plan = find<PlannedPtr>(key);
  if (!plan || !serves(*plan)) {
    key.counts = counts();
    plan = find<PlannedPtr>(key);
  }
  if (!plan) {
    programs.fetch_add(1, std::memory_order_relaxed);
    plan = std::make_shared<const Planned>(make(key, counts()));
    if (plan->by_types && !counts_matter) key.counts.reset();
    cache().insert(std::move(key), plan);
  }
  recent.keep(asking, plan);
  return plan;
}

ChoicePtr choice_for(const Einsum& e, std::span<const TensorType> operands, const TensorType& output, DType compute) {
  const Einsum own = canonical(e);
  const ProductResult result{output, compute};
  Key key({.einsum = &own, .product = &result, .types = operands});
  if (ChoicePtr known = find<ChoicePtr>(key)) return known;
  choices.fetch_add(1, std::memory_order_relaxed);
  auto choice = std::make_shared<Choice>();
  choice->product = {normalise(e, operands), key.types(), output, compute};
  choice->runner = choose(choice->product, choice->reports);
  RawArrays none;
  none.values.dtype = output.dtype;
  choice->fresh = make_tensor(output.format, output.shape, std::move(none), {}, false).part();
  choice->size = checked_product(output.shape).value();
  cache().insert(std::move(key), choice);
  return choice;
}

std::int64_t programs_made() { return programs.load(std::memory_order_relaxed); }
std::int64_t plans_made() { return choices.load(std::memory_order_relaxed); }

}  // namespace strata::planning
