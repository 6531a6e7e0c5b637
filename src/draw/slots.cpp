#include "draw/slots.h"

namespace strata::pictures {

std::string_view slot_classes(SlotKind s) {
  switch (s) {
    case SlotKind::value: return "value|ink";
    case SlotKind::zero: return "zero|muted";
    case SlotKind::fill_in: return "fill-in|fill-in-text";
    default: return "outside|muted";
  }
}

std::string_view slot_words(SlotKind s) {
  switch (s) {
    case SlotKind::value: return "stored";
    case SlotKind::zero: return "stored zero";
    case SlotKind::fill_in: return "fill-in";
    default: return "outside the tensor";
  }
}

bool is_fill(const Scalar& value, const Scalar& fill) {
  return value.same_bits(fill) || (fill.is_zero() && value.is_zero());
}

SlotJudge::SlotJudge(const Part& part, const TensorType& type)
    : dtype_(type.dtype),
      fill_(type.fill),
      holds_fill_in_(part.format.can_hold_fill() && !part.format.is_all_dense()) {}

SlotKind SlotJudge::judge(const void* address, std::span<const storage::LevelView> views,
                          std::span<const std::int64_t> counts, std::int64_t position) const {
  if (!is_fill(Scalar::load(dtype_, address), fill_)) return SlotKind::value;
  if (!holds_fill_in_) return SlotKind::zero;
  const storage::LevelView& last = views.back();
  if (last.level.kind != LevelKind::delta) return SlotKind::fill_in;
  // A bridge uses the largest distance, and something follows it in its row.
  const std::uint64_t largest = last.bits >= 63 ? INT64_MAX : (std::uint64_t{1} << last.bits) - 1;
  if (static_cast<std::uint64_t>(last.coordinate(position)) != largest) return SlotKind::zero;
  std::int64_t low = 0, high = counts[views.size() - 1];  // the parent p with pos[p] <= position < pos[p + 1]
  while (high - low > 1) {
    const std::int64_t middle = low + (high - low) / 2;
    (last.pos[middle] <= position ? low : high) = middle;
  }
  return position + 1 < last.pos[low + 1] ? SlotKind::fill_in : SlotKind::zero;
}

}  // namespace strata::pictures
