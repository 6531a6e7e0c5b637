// Measured: an assembly of 7.8 million triplets, of bilinear elements on a grid, takes 0.29 s of one core in all, and
// 0.47 with radix_sort.
#include "convert/bucket_sort.h"

#include <algorithm>
#include <vector>

#include "base/share.h"

namespace strata::conversion {
namespace {

constexpr int upper = 12, digit = 8;
constexpr std::size_t buckets = std::size_t{1} << upper, values = std::size_t{1} << digit;
constexpr std::int64_t worth_it = 1 << 16;

/// Sorts n items of `from` by bits [low, high) of the key; they end in `to`.
void sort_bucket(SortItem* from, SortItem* to, std::size_t n, int low, int high) {
  SortItem *in = from, *out = to;
  std::array<std::size_t, values> count;
  for (int shift = low; shift < high; shift += digit) {
    const std::uint64_t mask = (std::uint64_t{1} << std::min(digit, high - shift)) - 1;
    count.fill(0);
    in_steps(0, static_cast<std::int64_t>(n), [&](std::int64_t begin, std::int64_t end) {
      for (const SortItem *item = in + begin, *last = in + end; item < last; ++item) ++count[item->key >> shift & mask];
    });
    if (n == 0 || count[in[0].key >> shift & mask] == n) continue;  // all alike here
    std::size_t sum = 0;
    for (auto& c : count) sum += std::exchange(c, sum);
    in_steps(0, static_cast<std::int64_t>(n), [&](std::int64_t begin, std::int64_t end) {
      for (const SortItem *item = in + begin, *last = in + end; item < last; ++item)
        out[count[item->key >> shift & mask]++] = *item;
    });
    std::swap(in, out);
  }
  if (in != to) copy_in_steps(to, in, static_cast<std::int64_t>(n * sizeof(SortItem)));
}

}  // namespace

void bucket_sort(PodArray<SortItem>& items, PodArray<SortItem>& spare, int from, int bits) {
  const auto n = static_cast<std::int64_t>(items.size());
  if (n < worth_it || bits - from <= upper) return radix_sort(items, spare, from, bits);
  const int shift = bits - upper;
  const std::int64_t chunks = std::clamp<std::int64_t>(n >> 17, 1, 64);
  // Of each chunk: its items in each bucket, then where they begin.
  std::vector<std::size_t> places(static_cast<std::size_t>(chunks) * buckets), starts(buckets + 1);
  const auto place = [&](std::int64_t chunk) { return places.data() + static_cast<std::size_t>(chunk) * buckets; };
  const auto bucket_of = [&](const SortItem& item) { return item.key >> shift & (buckets - 1); };
  const auto each = [&](std::int64_t chunk, const auto& f) {
    const std::int64_t begin = begin_of_share(n, chunk, chunks), end = begin_of_share(n, chunk + 1, chunks);
    in_steps(begin, end, [&](std::int64_t first, std::int64_t last) {
      for (const SortItem *item = items.begin() + first, *stop = items.begin() + last; item < stop; ++item) f(*item);
    });
  };
  parallel_for(chunks, [&](std::int64_t c) {
    std::size_t* const mine = place(c);
    each(c, [&](const SortItem& item) { ++mine[bucket_of(item)]; });
  });
  std::size_t sum = 0;
  for (std::size_t b = 0; b < buckets; ++b) {
    starts[b] = sum;
    for (std::int64_t c = 0; c < chunks; ++c) sum += std::exchange(place(c)[b], sum);
  }
  starts[buckets] = sum;
  SortItem* const to = spare.data();
  parallel_for(chunks, [&](std::int64_t c) {
    std::size_t* const mine = place(c);
    each(c, [&](const SortItem& item) { to[mine[bucket_of(item)]++] = item; });
  });
  constexpr std::int64_t group = 16;
  parallel_for(static_cast<std::int64_t>(buckets) / group, [&](std::int64_t g) {
    for (auto b = static_cast<std::size_t>(g * group); b < static_cast<std::size_t>((g + 1) * group); ++b)
      sort_bucket(spare.data() + starts[b], items.data() + starts[b], starts[b + 1] - starts[b], from, shift);
  });
}

}  // namespace strata::conversion
