#pragma once
// What a slot of the storage is to a reader.
#include <span>
#include <string_view>

#include "tensor/part_view.h"

namespace strata::pictures {

enum class SlotKind : std::uint8_t {
  value,    ///< a stored element
  zero,     ///< a stored element that is the fill: an explicit zero
  fill_in,  ///< holds the fill because the format has a slot there
  outside,  ///< in no place of the tensor
};
inline constexpr int slot_kinds = 4;

/// Classes of a slot's cell and, behind the bar, of the text in it.
std::string_view slot_classes(SlotKind s);
std::string_view slot_words(SlotKind s);  ///< "stored", "stored zero", "fill-in", "outside the tensor"

/// Tells fill-in from stored elements. Which is which no format keeps: slots that hold the fill are fill-in where the
/// format may have put them there. Of an all-dense tensor every element is a stored one.
class SlotJudge {
 public:
  SlotJudge(const Part& part, const TensorType& type);
  /// Of an in-range slot, by its position below the last level. `views` and `counts` are those of its batch.
  SlotKind judge(const void* address, std::span<const storage::LevelView> views, std::span<const std::int64_t> counts,
                 std::int64_t position) const;

 private:
  DType dtype_;
  Scalar fill_;
  bool holds_fill_in_;
};

/// Does a value say no more than the fill? The same bits, or zero of either sign where the fill is zero.
bool is_fill(const Scalar& value, const Scalar& fill);

}  // namespace strata::pictures
