// In which order loops can walk an operand as it is stored, and why it is converted otherwise.
#include <algorithm>

#include "format/registered_levels.h"
#include "plan/nest/unit.h"

namespace strata::direct {

std::optional<std::vector<int>> storage_order(const Format& f) {
  if (f.num_parts() != 1) return std::nullopt;
  std::vector<int> out;
  for (int l = 0; l < f.num_levels(); ++l) {
    const Level& level = f.level(l);
    const ExprNode& e = f.spec().exprs[static_cast<std::size_t>(level.expr)];
    const bool usable =
        level.kind == LevelKind::dense || (level.kind == LevelKind::compressed && level.unique && level.ordered);
    if (e.op != ExprNode::dim || !usable) return std::nullopt;
    out.push_back(e.a);
  }
  return out;
}

std::optional<std::vector<int>> loop_order(const Format& f, bool alone) {
  if (f.num_parts() != 1) return std::nullopt;
  // (Strides of batches of packed arrays count bytes, not elements.)
  const auto packed = [](const Level& l) {
    return l.kind == LevelKind::delta || l.kind == LevelKind::bitmap || levels::is_registered(l.kind);
  };
  if (f.num_batch_levels() > 0 && std::ranges::any_of(f.levels(), packed)) return std::nullopt;
  std::vector<int> out;
  bool listed = false;  // do positions that follow one another share coordinates so far?
  for (int l = 0; l < f.num_levels(); ++l) {
    const Level& level = f.level(l);
    const ExprNode& e = f.spec().exprs[static_cast<std::size_t>(level.expr)];
    if (e.op != ExprNode::dim || !(level.ordered || alone)) return std::nullopt;
    switch (level.kind) {
      case LevelKind::batch:
      case LevelKind::dense:
        if (listed) return std::nullopt;
        break;
      case LevelKind::compressed:
        if (listed) return std::nullopt;
        listed = !level.unique;
        break;
      case LevelKind::singleton:
        if (l == 0) return std::nullopt;
        if (l + 1 == f.num_levels() || f.level(l + 1).kind != LevelKind::singleton) {
          if (listed && !level.unique) return std::nullopt;
          listed = false;
        }
        break;
      case LevelKind::delta:
      case LevelKind::bitmap:
      case LevelKind::structured:
      case LevelKind::padded:
        if (listed || !level.unique) return std::nullopt;
        break;
      default:
        if (!levels::is_registered(level.kind) || listed) return std::nullopt;
    }
    out.push_back(e.a);
  }
  return listed ? std::nullopt : std::optional(out);
}

std::string reason_to_convert(const Unit& u, const Order& o, std::size_t k) {
  const Access& a = u.accesses[k];
  const Format& f = a.tensor.format();
  if (f.num_parts() != 1) return "it is a sum of parts";
  if (!f.is_identity()) return "its levels are blocks or diagonals, not its indices";
  if (!f.is_ordered()) return "its coordinates do not ascend";
  if (!f.is_unique()) return "it may hold an element twice";
  const auto dims = loop_order(f);
  if (!dims) return "its levels cannot be walked beside others";
  if (static_cast<int>(k) == u.mask && f.can_hold_fill()) return "its fill-in is no part of a mask";
  const auto met = [&](int d) { return std::ranges::find(o.indices, a.indices[static_cast<std::size_t>(d)]); };
  return std::ranges::is_sorted(*dims, {}, met) ? "its rows are walked again and again"
                                                : "the loops run in another order";
}

}  // namespace strata::direct
