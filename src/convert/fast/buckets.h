#pragma once
// Elements brought near each other before they are scattered: where neighbours go far apart, two passes in order cost
// less than a line of memory for each element.
#include <bit>
#include <span>
#include <utility>

#include "base/far_apart.h"
#include "convert/fast/support.h"

namespace strata::fast {

/// Keys from which on the ends of their lists, a line each, are not expected to stay in a cache.
constexpr i64 many_keys = i64{1} << 15;
template <class S> bool pays_in_buckets(i64 keys, const S* key, i64 stored) {
  return keys > many_keys && stored > 8 * many_keys && far_apart(key, stored);
}

/// Elements grouped by the high bits of their keys, otherwise in their order.
template <class E> struct Buckets {
  int shift = 0;  ///< bucket b holds the keys from b << shift on
  Buffer memory;
  std::vector<i64> starts;  ///< of each bucket, and behind the last
  i64 size() const { return static_cast<i64>(starts.size()) - 1; }
  i64 start(i64 b) const { return starts[static_cast<std::size_t>(b)]; }
  std::span<const E> operator[](i64 b) const {
    return {static_cast<const E*>(memory.data) + start(b), static_cast<std::size_t>(start(b + 1) - start(b))};
  }
};

/// each(part, f) calls f(key, make) for the elements of a part in their order; make() gives the element.
template <class E, class Each> Buckets<E> into_buckets(i64 keys, i64 stored, i64 parts, const Each& each) {
  // A bucket and its share of the result fit a second-level cache; the ends of all buckets a first-level one.
  const i64 wanted = std::clamp<i64>(stored * static_cast<i64>(sizeof(E)) / (i64{1} << 19), 1, 256);
  Buckets<E> out;
  out.shift = static_cast<int>(std::bit_width(static_cast<std::uint64_t>((keys - 1) / wanted)));
  const i64 count = ((keys - 1) >> out.shift) + 1;
  std::vector<i64> next(static_cast<std::size_t>(parts * count));
  const auto of_part = [&](i64 c) { return next.data() + c * count; };
  parallel_for(parts, [&](i64 c) {
    std::vector<i64> own(static_cast<std::size_t>(count));  // no line shared with another part
    each(c, [&](i64 key, const auto&) { ++own[static_cast<std::size_t>(key >> out.shift)]; });
    std::copy(own.begin(), own.end(), of_part(c));
  });
  i64 total = 0;
  for (i64 b = 0; b < count; ++b) {
    out.starts.push_back(total);
    for (i64 c = 0; c < parts; ++c) total += std::exchange(of_part(c)[b], total);
  }
  out.starts.push_back(total);
  out.memory = Buffer::allocate(DType::u8, total * static_cast<i64>(sizeof(E)));
  E* const to = static_cast<E*>(out.memory.data);
  parallel_for(parts, [&](i64 c) {
    std::vector<i64> own(of_part(c), of_part(c) + count);
    each(c, [&](i64 key, const auto& make) { to[own[static_cast<std::size_t>(key >> out.shift)]++] = make(); });
  });
  return out;
}

}  // namespace strata::fast
