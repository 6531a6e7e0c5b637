#include "plan/nest/panels.h"

#include <algorithm>

#include "base/checked.h"
#include "execute/dense_view.h"
#include "kernels/panels.h"
#include "levels/index_view.h"
#include "machine/machine.h"
#include "plan/nest/plain.h"
#include "plan/nest/row_order.h"
#include "plan/nest/run.h"
#include "plan/product.h"
#include "tensor/part_view.h"

namespace strata::direct {
namespace {

using i64 = std::int64_t;

constexpr i64 elements_a_row = 24;  ///< that pay for copying one

i64 bytes_of(DType t) { return static_cast<i64>(size_of(t)); }

/// Bytes of a panel's rows: all that are chosen from stay in the second level, or nearly. Two lines at least, as every
/// panel reads the pattern and the result anew: with fewer, what the second level does not hold is left alone, unless
/// it comes from memory. (Measured for uniform matrices of 2,000 to 30,000 rows, 10 to 800 elements a row, sums of 128
/// to 1024.)
i64 panel_bytes(i64 rows, i64 all_bytes) {
  for (i64 bytes : {512, 256})
    if (rows * bytes <= machine().second_level) return bytes;
  return rows * 128 <= machine().second_level * 5 / 4 || all_bytes >= 2 * far_bytes ? 128 : 0;
}

/// Places [begin, begin + width) of the summed index, copied or where they lie.
Tensor panel_of(const Tensor& given, const Access& a, int index, i64 begin, i64 width, bool packed) {
  const Tensor t = strided(given);
  const auto d = static_cast<std::size_t>(std::ranges::find(a.indices, index) - a.indices.begin());
  const std::vector<i64> strides = dimension_strides(t);
  Shape shape = t.shape();
  shape[d] = width;
  const Tensor part =
      dense_view(t.part().values, shape, strides, t.part().values_offset + begin * strides[d], t.fill());
  return packed ? execution::row_major_copy(part) : part;
}

}  // namespace

std::optional<SumPanels> panels_of(const Unit& u, const Order& o) {
  const std::size_t n = o.indices.size();
  const DType t = u.compute;
  if (o.pattern < 0 || u.mask >= 0 || u.output.size() + 1 != n || !u.bounds.empty() ||
      !(t == DType::f32 || t == DType::f64 || is_complex(t)))
    return {};
  SumPanels out{.index = o.indices.back()};
  const Access& pattern = u.accesses[static_cast<std::size_t>(o.pattern)];
  const Format& f = pattern.tensor.format();
  const i64 length = u.extents[static_cast<std::size_t>(out.index)];
  if (f.level(f.num_levels() - 1).kind != LevelKind::compressed || length == 0) return {};
  const int chooser = o.indices[n - 2];
  i64 rows = 0, most = 1;
  for (std::size_t k = 0; k < u.accesses.size(); ++k) {
    const Access& a = u.accesses[k];
    if (std::ranges::find(a.indices, out.index) == a.indices.end()) continue;
    if (a.indices.back() != out.index || a.tensor.dtype() != t || !planning::is_plain_dense(a.tensor.type()) ||
        !a.tensor.type().strides.empty() || !a.tensor.format().is_identity())
      return {};
    const i64 size = checked_product(a.tensor.shape()).value_or(0);
    if (size == 0) return {};
    // Where it is large it is packed also if its rows come in their order: parts of them that lie a page apart are
    // misses of their own, which a copy has in flight together.
    const bool packed = size >= machine().second_level / bytes_of(t);
    if (packed) most = std::max(most, size / length);
    if (packed && std::ranges::find(a.indices, chooser) != a.indices.end()) rows = std::max(rows, size / length);
    out.sides.push_back({k, packed});
  }
  if (rows == 0) return {};
  out.width = panel_bytes(rows, rows * length * bytes_of(t)) / bytes_of(t);
  if (out.width == 0 || out.width >= length) return {};
  // Each panel costs as many elements, whatever its width, and what hardly leaves the second level gains less. (Both
  // sides are copied: a row of them takes as long as some ten elements.)
  const bool narrow = out.width * bytes_of(t) < 256,
             just_over = most * length * bytes_of(t) <= 2 * machine().second_level;
  out.worth = (narrow ? 2 : 1) * (just_over ? 2 : 1) * elements_a_row * most;
  return out;
}

bool pay(const SumPanels& panels, const Order& o, std::span<const Tensor> operands) {
  const Tensor& t = operands[static_cast<std::size_t>(o.pattern)];
  const Part& part = t.part();
  const std::size_t l = part.levels.size() - 1;
  const i64 stored = t.type().shared_value ? t.nse() : planning::stored_values(t);
  if (stored < panels.worth) return false;
  if (order_of(o.rows, t) == RowOrder::identical) return false;  // they share what they choose, whole
  const i64 columns = part.ranges[l].size, rows = level_counts(part, level_views(part))[l];
  return with_index_type(part.levels[l].pos.dtype, [&]<class P>(P) {
    return with_index_type(part.levels[l].crd.dtype, [&]<class C>(C) {
      return kernels::rows_spread(rows, columns, static_cast<const P*>(part.levels[l].pos.data),
                                  static_cast<const C*>(part.levels[l].crd.data));
    });
  });
}

std::optional<Tensor> run_in_panels(const SumPanels& panels, const Unit& unit, const Order& order,
                                    std::span<const Tensor> operands) {
  const auto index = static_cast<std::size_t>(panels.index);
  Unit u = unit;
  Order o = order;
  o.panels.reset();
  o.aligned.clear();
  std::optional<Tensor> all;
  for (i64 begin = 0, length = unit.extents[index]; begin < length; begin += panels.width) {
    u.extents[index] = std::min(panels.width, length - begin);
    std::vector<Tensor> in(operands.begin(), operands.end());
    for (const auto& [k, packed] : panels.sides)
      in[k] = panel_of(operands[k], unit.accesses[k], panels.index, begin, u.extents[index], packed);
    Run run(u, o, std::span<const Tensor>(in));
    all = all ? run.run_into(all->part().values, Scalar::one(unit.compute)) : run.run();
    if (!all) return std::nullopt;
  }
  return all;
}

std::string text_of(const SumPanels& panels, const Unit& unit, const Order& order) {
  std::string names;
  for (const PanelSide& s : panels.sides)
    if (s.packed) names += (names.empty() ? "" : ", ") + unit.accesses[s.access].name;
  return std::to_string(panels.width) + " of " + std::to_string(unit.extents[static_cast<std::size_t>(panels.index)]) +
         " summed at a time, " + names + " packed, where rows of " +
         unit.accesses[static_cast<std::size_t>(order.pattern)].name + " choose from everywhere and " +
         std::to_string(panels.worth) + " values are stored";
}

}  // namespace strata::direct
