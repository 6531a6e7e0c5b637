#pragma once
// A stable least-significant-digit radix sort: linear in the elements, whatever their order.
#include <array>
#include <cstdint>
#include <utility>
#include <vector>

#include "backend/pod_array.h"
#include "backend/steps.h"

namespace strata::conversion {

struct SortItem {
  std::uint64_t key, index;
};

/// Sorts by bits [from, bits) of the key. `spare` is as long as `items`.
inline void radix_sort(PodArray<SortItem>& items, PodArray<SortItem>& spare, int from, int bits) {
  constexpr int digit = 8, buckets = 1 << digit;
  const int passes = (bits - from + digit - 1) / digit;
  if (passes == 0 || items.size() < 2) return;
  std::vector<std::array<std::size_t, buckets>> counts(static_cast<std::size_t>(passes));
  for (auto& c : counts) c.fill(0);
  const auto each = [&](const auto& f) {
    in_steps(0, static_cast<std::int64_t>(items.size()), [&](std::int64_t begin, std::int64_t end) {
      for (const SortItem *item = items.begin() + begin, *last = items.begin() + end; item < last; ++item) f(*item);
    });
  };
  each([&](const SortItem& item) {
    for (int p = 0; p < passes; ++p)
      ++counts[static_cast<std::size_t>(p)][item.key >> (from + digit * p) & (buckets - 1)];
  });
  for (int p = 0; p < passes; ++p) {
    auto& count = counts[static_cast<std::size_t>(p)];
    if (count[items[0].key >> (from + digit * p) & (buckets - 1)] == items.size()) continue;  // all alike here
    std::size_t sum = 0;
    for (auto& c : count) sum += std::exchange(c, sum);
    SortItem* const to = spare.data();
    each([&](const SortItem& item) { to[count[item.key >> (from + digit * p) & (buckets - 1)]++] = item; });
    items.swap(spare);
  }
}

}  // namespace strata::conversion
