// Which places of a dense result's blocks stay in registers while sums run.
#include <algorithm>

#include "format/recognise.h"
#include "plan/nest/tile.h"

namespace strata::direct {
namespace {

bool is_inside(const Unit& u, int index) { return u.inside[static_cast<std::size_t>(index)] != 0; }
/// Does a loop walk what a sparse operand stores of this index, as it does n of m columns of a block?
bool is_walked(const Unit& u, const Order& o, int index) {
  for (std::size_t k = 0; k < u.accesses.size(); ++k) {
    const Access& a = u.accesses[k];
    if (a.dense || o.convert[k] || !a.has(index)) continue;
    const Format& f = a.tensor.format();
    for (int l = f.num_levels() - tail_of(u, a); l-- > 0;)
      if (const int d = plain_dim(f, l); d >= 0 && a.indices[static_cast<std::size_t>(d)] == index) return true;
  }
  return false;
}

/// Is this one tensor walked as it is stored, each element with a block of constant size?
bool is_in_blocks(const Unit& u, const Order& o, std::size_t k) {
  const Access& a = u.accesses[k];
  if (o.convert[k] || a.tensor.format().num_batch_levels() > 0) return false;
  const auto inside = std::ranges::count_if(a.indices, [&](int i) { return is_inside(u, i) && !is_walked(u, o, i); });
  return tail_of(u, a) == inside;
}

/// Can places of this index be taken in vectors? The result's memory runs along it, and so do all operands that have
/// it, whose blocks end in it.
bool lie_in_vectors(const Unit& u, int index) {
  const auto has = [&](const Access& a) { return a.has(index); };
  return index == u.output.back() && (u.strides.empty() || u.strides.back() == 1) && !u.drops_fill_in &&
         lanes_of(u.compute) > 1 && u.extents[static_cast<std::size_t>(index)] > 1 &&
         std::ranges::all_of(u.accesses,
                             [&](const Access& a) { return !has(a) || (!a.dense && lies_along(a, index)); }) &&
         !u.is_bounded(index) &&
         merging::has_lanes(u, [&](int k) { return has(u.accesses[static_cast<std::size_t>(k)]); });
}

}  // namespace

int tail_of(const Unit& u, const Access& a) {
  const Format& f = a.tensor.format();
  int out = 0;
  for (int l = f.num_levels(); l-- > 0 && f.level(l).kind == LevelKind::dense; ++out) {
    const int d = plain_dim(f, l);
    if (d < 0 || !is_inside(u, a.indices[static_cast<std::size_t>(d)])) break;
  }
  return out;
}

void hold_blocks(const Unit& u, Order& o) {
  constexpr std::int64_t largest = 32;  ///< extents that stand in the text
  const DType t = u.compute;
  const bool served = t == DType::f32 || t == DType::f64 || t == DType::i32 || t == DType::i64 || t == DType::boolean;
  if (!served || !o.dense_result || o.along >= 0 || u.mask >= 0 || u.skew || o.tile >= 0 ||
      u.combine == merging::Combine::first)
    return;
  std::vector<int> outside, outer, held, dense, sums, sums_inside;
  for (const int i : o.indices) {
    const bool walked = is_walked(u, o, i), inside = is_inside(u, i) && !(walked && !u.is_output(i));
    if (inside &&
        (walked || u.constants[static_cast<std::size_t>(i)] <= 0 || u.extents[static_cast<std::size_t>(i)] > largest))
      return;
    if (u.is_output(i)) (inside ? held : u.is_of_dense_alone(i) ? dense : outside).push_back(i);
    else (inside ? sums_inside : sums).push_back(i);
    if (!inside && !(u.is_output(i) && u.is_of_dense_alone(i))) outer.push_back(i);
  }
  // (In the order of the result's dimensions: the last ones lie side by side.)
  std::ranges::sort(held, {}, [&](int i) { return std::ranges::find(u.output, i) - u.output.begin(); });
  // What operands store outside of blocks is walked in their order. Where rows of blocks come behind a sum, all that
  // one block adds to them is what stays in registers.
  const bool scatters = !std::ranges::is_partitioned(outer, [&](int i) { return u.is_output(i); });
  const bool sums_all = std::ranges::find(sums, o.indices.front()) != sums.end();
  if (held.empty() || sums.empty() || (scatters ? sums_inside.empty() || u.others : sums_all)) return;
  for (std::size_t k = 0; k < u.accesses.size(); ++k)
    if (!u.accesses[k].dense && !is_in_blocks(u, o, k)) return;
  if (scatters) outside = outer, sums.clear();
  const auto ordered = [&](const std::vector<std::vector<int>>& parts) {
    std::vector<int> out;
    for (const auto& part : parts) out.insert(out.end(), part.begin(), part.end());
    return out;
  };
  const bool along = !dense.empty() && dense.back() == u.output.back();
  // Of fill-in that is missing, rows of many values are left out: of shorter ones the jump takes longer.
  constexpr std::int64_t longest_row = 128;  ///< bytes
  if (along && u.drops_fill_in &&
      u.extents[static_cast<std::size_t>(dense.back())] * static_cast<std::int64_t>(size_of(t)) > longest_row)
    return;
  std::vector<int> order = ordered({outside, held, dense, sums, sums_inside});
  int tile = along ? tile_of(u, order) : -1;
  if (scatters && tile < 0) return;  // what one block adds lies in vectors of its rows as it is
  if (dense.empty() && lie_in_vectors(u, held.back())) {
    tile = held.back();
    held.pop_back();
    order = ordered({outside, {tile}, held, sums, sums_inside});
  } else if (tile >= 0) {
    dense.pop_back();
    order = ordered({outside, dense, {tile}, held, sums, sums_inside});
  } else {
    order = ordered({outside, dense, held, sums, sums_inside});
  }
  o.tile = tile;
  o.held = held;
  o.indices = order;
  const int last = order.back();
  o.lanes_of_sum = tile < 0 && !sums_inside.empty() && lanes_of(t) > 1 &&
                   u.extents[static_cast<std::size_t>(last)] % 2 == 0 &&
                   std::ranges::all_of(u.accesses, [&](const Access& a) { return lies_along(a, last); }) &&
                   (t == DType::f32 || t == DType::f64) && !u.is_bounded(last) &&
                   merging::has_lanes(u, [&](int k) { return u.accesses[static_cast<std::size_t>(k)].has(last); });
}

}  // namespace strata::direct
