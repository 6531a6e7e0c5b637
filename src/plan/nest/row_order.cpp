#include "plan/nest/row_order.h"

#include <algorithm>
#include <limits>

#include "base/checked.h"
#include "kernels/caches.h"
#include "levels/index_view.h"
#include "tensor/tensor_impl.h"

namespace strata::direct {
namespace {

using i64 = std::int64_t;

constexpr i64 longest_sum = 128;  ///< several of them side by side are held in registers
constexpr i64 fewest_rows = 16;
constexpr i64 shortest_row = 16;            ///< shorter ones are all about their ends
constexpr i64 fewest_bytes = i64{1} << 20;  ///< of a dense operand whose rows are asked for by order

/// Of eight places, do most have blocks of four rows or more? Of nine rows there, two pairs of neighbours at most
/// differ then. (Rows that come in twos and threes lose: a mesh with three unknowns a node took 1.15 times as long.)
template <class P, class C> bool identical(i64 rows, const P* pos, const C* crd) {
  constexpr i64 places = 8, enough = 6, pairs = 8;
  const auto differ = [&](i64 i) {
    const i64 first = static_cast<i64>(pos[i]), other = static_cast<i64>(pos[i + 1]), n = other - first;
    return n < shortest_row || static_cast<i64>(pos[i + 2]) - other != n ||
           !std::equal(crd + first, crd + other, crd + other);
  };
  i64 found = 0;
  for (i64 s = 0; s < places && found + places - s >= enough; ++s) {
    const i64 first = (rows - pairs - 1) * s / (places - 1);
    i64 different = 0;
    for (i64 i = first; i < first + pairs && different <= 2; ++i) different += differ(i);
    found += different <= 2;
  }
  return found >= enough;
}

/// f(rows, pos, crd) of the last level, below dense ones.
template <class F> auto with_rows(const Part& part, const F& f) {
  const std::size_t last = part.levels.size() - 1;
  i64 rows = 1;
  for (std::size_t l = 0; l < last; ++l) rows *= part.ranges[l].size;
  return with_index_type(part.levels[last].pos.dtype, [&]<class P>(P) {
    return with_index_type(part.levels[last].crd.dtype, [&]<class C>(C) {
      return f(rows, static_cast<const P*>(part.levels[last].pos.data),
               static_cast<const C*>(part.levels[last].crd.data));
    });
  });
}

}  // namespace

RowsInOrder rows_in_order(const Unit& u, const Order& o) {
  const std::size_t n = o.indices.size();
  if (o.pattern < 0 || o.slots != Order::nested || u.output.size() + 1 != n || n < 3 ||
      !(u.compute == DType::f32 || u.compute == DType::f64))
    return {};
  const Format& f = u.accesses[static_cast<std::size_t>(o.pattern)].tensor.format();
  const int last = f.num_levels() - 1;
  if (f.level(last).kind != LevelKind::compressed || !f.level(last).unique) return {};
  for (int l = 0; l < last; ++l)
    if (f.level(l).kind != LevelKind::dense) return {};
  const int sum = o.indices[n - 1], column = o.indices[n - 2], row = o.indices[n - 3];
  const i64 length = u.extents[static_cast<std::size_t>(sum)];
  RowsInOrder out;
  bool of_row = false, of_both = false;
  for (const Access& a : u.accesses) {
    if (!a.dense) continue;
    of_row = of_row || (a.has(row) && a.has(sum));
    of_both = of_both || (a.has(row) && a.has(column));
    const i64 size = checked_product(a.tensor.shape()).value_or(INT64_MAX),
              width = static_cast<i64>(size_of(a.tensor.dtype()));
    if (!a.has(column) || !a.has(sum) || size == 0 || size < fewest_bytes / width) continue;
    out.row_bytes = std::max(out.row_bytes, size / u.extents[static_cast<std::size_t>(column)] * width);
    out.bytes = std::max(out.bytes, size > INT64_MAX / width ? INT64_MAX : size * width);
  }
  // (One vector a slot: to add up its lanes is most of the work, and that no row shares.)
  out.may_be_identical = of_row && !of_both && length > lanes_of(u.compute) && length <= longest_sum;
  if (machine().rows_by_order == ByOrder::never || last != 1) out.row_bytes = 0;
  return out;
}

RowOrder order_of(const RowsInOrder& rows, const Tensor& pattern) {
  if (!rows.may_be_identical && rows.row_bytes == 0) return RowOrder::any;
  return with_rows(pattern.part(), [&](i64 n, const auto* pos, const auto* crd) {
    if (rows.may_be_identical && n >= fewest_rows && identical(n, pos, crd)) return RowOrder::identical;
    if (rows.row_bytes == 0) return RowOrder::any;
    const RowOrder order = row_order(n, pos, crd, kernels::order_slack(rows.row_bytes)).order;
    return order == RowOrder::along || machine().rows_by_order == ByOrder::always ? order : RowOrder::any;
  });
}

merging::RowPrefetch prefetch_in_order(const RowsInOrder& rows, RowOrder order) {
  merging::RowPrefetch out{.by_row = true, .along = order == RowOrder::along};
  if (order == RowOrder::steps) {
    out.ahead = 96;
    out.second_level = true;
  } else if (order == RowOrder::none) {
    const bool twice = rows.bytes > twice_bytes;
    out.ahead = twice ? 32 : 24;
    out.second_level = twice;
    out.again = twice ? 16 : 0;
  }
  return out;
}

i64 lead_of(const Part& part) {
  return with_rows(part, [](i64 rows, const auto* pos,
                            const auto* crd) { return lead_along(rows, pos, crd, std::numeric_limits<i64>::max()); })
      .value_or(0);
}

}  // namespace strata::direct
