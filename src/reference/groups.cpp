#include "reference/groups.h"

#include <algorithm>

namespace strata::evaluation {

void Groups::combine_equal(Monoid m, const Extents& extents) {
  const Rows* tables[] = {&rows};
  const auto keys = keys_of(tables, rows.vars, extents)[0];
  const auto order = sorting(keys);
  Ints starts, counts;
  for (std::size_t k = 0; k < order.size(); ++k) {
    if (k == 0 || keys[static_cast<std::size_t>(order[k])] != keys[static_cast<std::size_t>(order[k - 1])]) {
      starts.push_back(static_cast<std::int64_t>(k));
      counts.push_back(0);
    }
    counts.back() += count[static_cast<std::size_t>(order[k])];
  }
  Ints first;
  for (auto s : starts) first.push_back(order[static_cast<std::size_t>(s)]);
  starts.push_back(static_cast<std::int64_t>(order.size()));
  if (first.size() < order.size() || !std::is_sorted(order.begin(), order.end())) {
    values = combine(m, gather(values, order, zeros(values.dtype, 1)), starts);
    rows = rows.take(first);
    count = std::move(counts);
  }
}

void Groups::append(const Groups& more) {
  for (std::size_t v = 0; v < rows.coords.size(); ++v)
    rows.coords[v].insert(rows.coords[v].end(), more.rows.coords[v].begin(), more.rows.coords[v].end());
  rows.n += more.rows.n;
  evaluation::append(values, more.values);
  count.insert(count.end(), more.count.begin(), more.count.end());
}

Rows project(const Rows& rows, std::span<const int> vars) {
  Rows out;
  out.n = rows.n;
  for (int v : vars) {
    out.vars.push_back(v);
    out.coords.push_back(*rows.column(v));
  }
  return out;
}

Ints present_rows(const NodeValues& v) {
  Ints out;
  for (std::size_t k = 0; k < v.present.size(); ++k)
    if (v.present[k]) out.push_back(static_cast<std::int64_t>(k));
  return out;
}

}  // namespace strata::evaluation
