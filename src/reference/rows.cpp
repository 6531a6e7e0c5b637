#include "reference/rows.h"

#include <algorithm>
#include <bit>
#include <numeric>

#include "backend/allocator.h"
#include "backend/pod_array.h"
#include "backend/steps.h"
#include "base/checked.h"
#include "convert/radix_sort.h"
#include "levels/level_storage.h"
#include "strata/error.h"

namespace strata::evaluation {
namespace {

constexpr std::size_t several_tables = 3;  ///< that live at a time

[[noreturn]] void too_many() {
  throw Unsupported(
      {.what = "the result, or what lies on the way to it, has more elements than memory holds",
       .expected = "as many as fit",
       .fix = "use sparse operands, or a mask; divide a sum, sum(j, ...) / s(i), instead of what it adds up"});
}

/// Better an error than a process that is killed.
void require_room(std::int64_t rows, std::size_t columns) {
  try {
    storage::require_memory(rows, static_cast<std::int64_t>(several_tables * sizeof(std::int64_t) * columns));
  } catch (const OutOfMemory&) { too_many(); }
}

bool contains(std::span<const int> list, int v) { return std::find(list.begin(), list.end(), v) != list.end(); }

std::vector<int> without(std::span<const int> list, std::span<const int> gone) {
  std::vector<int> out;
  for (int v : list)
    if (!contains(gone, v)) out.push_back(v);
  return out;
}

/// Ranks of (a, b) pairs over all tables, in their order.
void rank_pairs(std::vector<std::vector<std::uint64_t>>& high, const std::vector<std::vector<std::uint64_t>>& low) {
  struct Item {
    std::uint64_t high, low;
    std::size_t table, row;
  };
  std::vector<Item> items;
  for (std::size_t t = 0; t < high.size(); ++t)
    for (std::size_t r = 0; r < high[t].size(); ++r) items.push_back({high[t][r], low[t][r], t, r});
  std::sort(items.begin(), items.end(),
            [](const Item& x, const Item& y) { return x.high != y.high ? x.high < y.high : x.low < y.low; });
  std::uint64_t rank = 0;
  for (std::size_t k = 0; k < items.size(); ++k) {
    if (k > 0 && (items[k].high != items[k - 1].high || items[k].low != items[k - 1].low)) ++rank;
    high[items[k].table][items[k].row] = rank;
  }
}

Ints iota(std::int64_t n) {
  Ints out(static_cast<std::size_t>(n));
  std::iota(out.begin(), out.end(), std::int64_t{0});
  return out;
}

}  // namespace

const Ints* Rows::column(int var) const {
  for (std::size_t k = 0; k < vars.size(); ++k)
    if (vars[k] == var) return &coords[k];
  return nullptr;
}

Rows Rows::take(std::span<const std::int64_t> where) const {
  Rows out{.vars = vars,
           .free = free,
           .coords = std::vector<Ints>(vars.size()),
           .n = static_cast<std::int64_t>(where.size()),
           .slots = {}};
  const auto pick = [&](const Ints& from, std::int64_t absent) {
    Ints to(where.size());
    in_steps(0, static_cast<std::int64_t>(where.size()), [&](std::int64_t begin, std::int64_t end) {
      for (auto k = static_cast<std::size_t>(begin); k < static_cast<std::size_t>(end); ++k)
        to[k] = where[k] < 0 ? absent : from[static_cast<std::size_t>(where[k])];
    });
    return to;
  };
  for (std::size_t v = 0; v < vars.size(); ++v) out.coords[v] = pick(coords[v], 0);
  for (const auto& [leaf, slot] : slots) out.slots[leaf] = pick(slot, -1);
  return out;
}

Rows full(std::vector<int> free) { return {.vars = {}, .free = std::move(free), .coords = {}, .n = 1, .slots = {}}; }

std::vector<int> united(std::span<const int> a, std::span<const int> b) {
  std::vector<int> out(a.begin(), a.end());
  for (int v : b)
    if (!contains(out, v)) out.push_back(v);
  return out;
}

std::int64_t total(const Rows& rows, const Extents& extents) {
  Ints factors{rows.n};
  for (int v : rows.free) factors.push_back(extents[static_cast<std::size_t>(v)]);
  const auto product = checked_product(factors);
  if (!product || *product >= std::int64_t{1} << 62) too_many();
  return *product;
}

std::vector<std::vector<std::uint64_t>> keys_of(std::span<const Rows* const> tables, std::span<const int> vars,
                                                const Extents& extents) {
  std::vector<std::vector<std::uint64_t>> keys;
  for (const Rows* t : tables) keys.emplace_back(static_cast<std::size_t>(t->n), 0);
  Ints sizes;
  for (int v : vars) sizes.push_back(extents[static_cast<std::size_t>(v)]);
  const bool linear = checked_product(sizes).has_value();
  for (int v : vars) {
    if (linear) {
      const auto extent = static_cast<std::uint64_t>(extents[static_cast<std::size_t>(v)]);
      for (std::size_t t = 0; t < tables.size(); ++t) {
        const Ints& c = *tables[t]->column(v);
        for (std::size_t k = 0; k < c.size(); ++k) keys[t][k] = keys[t][k] * extent + static_cast<std::uint64_t>(c[k]);
      }
      continue;
    }
    std::vector<std::vector<std::uint64_t>> low;
    for (const Rows* t : tables) {
      const Ints& c = *t->column(v);
      low.emplace_back(c.begin(), c.end());
    }
    rank_pairs(keys, low);
  }
  return keys;
}

std::vector<std::int64_t> sorting(const std::vector<std::uint64_t>& keys) {
  const std::size_t n = keys.size();
  poll_interrupt();
  if (std::is_sorted(keys.begin(), keys.end())) return iota(static_cast<std::int64_t>(n));
  const std::uint64_t most = *std::max_element(keys.begin(), keys.end());
  PodArray<conversion::SortItem> items(n), spare(n);
  for (std::size_t k = 0; k < n; ++k) items[k] = {keys[k], k};
  conversion::radix_sort(items, spare, 0, std::bit_width(most));
  std::vector<std::int64_t> order(n);
  for (std::size_t k = 0; k < n; ++k) order[k] = static_cast<std::int64_t>(items[k].index);
  return order;
}

Rows join(const Rows& a, const Rows& b, const Extents& extents) {
  std::vector<int> shared;
  for (int v : a.vars)
    if (b.has(v)) shared.push_back(v);
  Ints left, right;
  if (shared.empty()) {
    const auto n = checked_mul(a.n, b.n);
    if (!n) too_many();
    require_room(*n, a.vars.size() + b.vars.size() + a.slots.size() + b.slots.size());
    for (std::int64_t x = 0; x < a.n; ++x)
      for (std::int64_t y = 0; y < b.n; ++y) {
        poll_at(x * b.n + y);
        left.push_back(x);
        right.push_back(y);
      }
  } else {
    const Rows* tables[] = {&a, &b};
    const auto keys = keys_of(tables, shared, extents);
    const auto order_a = sorting(keys[0]), order_b = sorting(keys[1]);
    const auto key_a = [&](std::size_t k) { return keys[0][static_cast<std::size_t>(order_a[k])]; };
    const auto key_b = [&](std::size_t k) { return keys[1][static_cast<std::size_t>(order_b[k])]; };
    for (std::size_t x = 0, y = 0; x < order_a.size() && y < order_b.size();) {
      const auto key = key_a(x);
      if (key < key_b(y)) ++x;
      else if (key > key_b(y)) ++y;
      else {
        std::size_t end = y;
        while (end < order_b.size() && key_b(end) == key) ++end;
        for (; x < order_a.size() && key_a(x) == key; ++x)
          for (std::size_t z = y; z < end; ++z) {
            poll_at(static_cast<std::int64_t>(left.size()));
            left.push_back(order_a[x]);
            right.push_back(order_b[z]);
          }
        y = end;
      }
    }
  }
  Rows out = a.take(left);
  const Rows other = b.take(right);
  for (std::size_t v = 0; v < b.vars.size(); ++v)
    if (!a.has(b.vars[v])) {
      out.vars.push_back(b.vars[v]);
      out.coords.push_back(other.coords[v]);
    }
  for (const auto& [leaf, slot] : other.slots) out.slots[leaf] = slot;
  out.free = without(united(a.free, b.free), out.vars);
  return out;
}

Rows expand(const Rows& rows, std::span<const int> vars, const Extents& extents) {
  if (vars.empty()) return rows;
  Rows only = rows;
  only.free.assign(vars.begin(), vars.end());
  Rows out = slab(only, 0, total(only, extents), extents);
  out.free = without(rows.free, vars);
  return out;
}

Rows slab(const Rows& rows, std::int64_t begin, std::int64_t end, const Extents& extents) {
  std::int64_t inner = 1;
  if (end > begin)  // then total() has checked the product
    for (int v : rows.free) inner *= extents[static_cast<std::size_t>(v)];
  const auto n = static_cast<std::size_t>(end - begin);
  require_room(end - begin, rows.vars.size() + rows.free.size() + rows.slots.size() + 1);
  Ints where(n);
  std::vector<Ints> added(rows.free.size(), Ints(n));
  for (std::size_t k = 0; k < n; ++k) {
    const std::int64_t t = begin + static_cast<std::int64_t>(k);
    where[k] = t / inner;
    std::int64_t rest = t % inner;
    for (std::size_t f = rows.free.size(); f-- > 0;) {
      const std::int64_t extent = extents[static_cast<std::size_t>(rows.free[f])];
      added[f][k] = rest % extent;
      rest /= extent;
    }
  }
  Rows out = rows.take(where);
  for (std::size_t f = 0; f < rows.free.size(); ++f) {
    out.vars.push_back(rows.free[f]);
    out.coords.push_back(std::move(added[f]));
  }
  out.free.clear();
  return out;
}

Rows unite(const Rows& a, const Rows& b, const Extents& extents) {
  const auto all_a = united(a.vars, a.free), all_b = united(b.vars, b.free), all = united(all_a, all_b);
  for (const Rows* one : {&a, &b})
    if (one->is_full()) return full(all);  // slots are looked up where they are missing
  // List on either side what the other lists; what neither lists stays free.
  const auto listed = united(a.vars, b.vars);
  const auto prepare = [&](const Rows& x) {
    Rows open = x;
    open.free = without(all, x.vars);
    std::vector<int> missing;
    for (int v : listed)
      if (!x.has(v)) missing.push_back(v);
    return expand(open, missing, extents);
  };
  const Rows left = prepare(a), right = prepare(b);
  const Rows* tables[] = {&left, &right};
  const auto keys = keys_of(tables, listed, extents);
  const auto order_a = sorting(keys[0]), order_b = sorting(keys[1]);
  Ints from_a, from_b;
  for (std::size_t x = 0, y = 0; x < order_a.size() || y < order_b.size();) {
    const bool more_a = x < order_a.size(), more_b = y < order_b.size();
    const auto key_a = more_a ? keys[0][static_cast<std::size_t>(order_a[x])] : 0;
    const auto key_b = more_b ? keys[1][static_cast<std::size_t>(order_b[y])] : 0;
    const bool use_a = more_a && (!more_b || key_a <= key_b), use_b = more_b && (!more_a || key_b <= key_a);
    from_a.push_back(use_a ? order_a[x] : -1);
    from_b.push_back(use_b ? order_b[y] : -1);
    x += use_a;
    y += use_b;
  }
  Rows out = left.take(from_a);
  const Rows other = right.take(from_b);
  for (std::size_t v = 0; v < out.vars.size(); ++v) {
    const Ints& c = *other.column(out.vars[v]);
    for (std::size_t k = 0; k < c.size(); ++k)
      if (from_a[k] < 0) out.coords[v][k] = c[k];
  }
  for (const auto& [leaf, slot] : other.slots) out.slots[leaf] = slot;
  return out;
}

Ints find(const Rows& rows, const Rows& other, const Extents& extents) {
  const Rows* tables[] = {&rows, &other};
  const auto keys = keys_of(tables, other.vars, extents);
  const auto order = sorting(keys[1]);
  std::vector<std::uint64_t> sorted(order.size());
  for (std::size_t k = 0; k < order.size(); ++k) sorted[k] = keys[1][static_cast<std::size_t>(order[k])];
  Ints out(keys[0].size());
  std::size_t at = 0;  // rows often ascend
  for (std::size_t k = 0; k < out.size(); ++k) {
    const auto key = keys[0][k];
    if (at < sorted.size() && sorted[at] < key && at + 1 < sorted.size() && sorted[at + 1] >= key) ++at;
    else if (at >= sorted.size() || sorted[at] != key)
      at = static_cast<std::size_t>(std::lower_bound(sorted.begin(), sorted.end(), key) - sorted.begin());
    out[k] = at < sorted.size() && sorted[at] == key ? order[at] : -1;
  }
  return out;
}

Rows without(const Rows& rows, const Rows& excluded, const Extents& extents) {
  const Ints at = find(rows, excluded, extents);
  Ints kept;
  for (std::size_t k = 0; k < at.size(); ++k)
    if (at[k] < 0) kept.push_back(static_cast<std::int64_t>(k));
  return kept.size() == at.size() ? rows : rows.take(kept);
}

double join_estimate(const Rows& a, const Rows& b, const Extents& extents) {
  double shared = 1;
  for (int v : a.vars)
    if (b.has(v)) shared *= static_cast<double>(extents[static_cast<std::size_t>(v)]);
  const auto na = static_cast<double>(a.n), nb = static_cast<double>(b.n);
  return na * nb / std::max({std::min(na, shared), std::min(nb, shared), 1.0});
}

}  // namespace strata::evaluation
