// The pattern of one tensor with the values of another.
#include "tensor/tensor_impl.h"

namespace strata {

Tensor with_values(const Tensor& t, Buffer values, std::int64_t value_stride) {
  if (t.num_parts() != 1)
    throw TensorError({.what = "a sum of " + std::to_string(t.num_parts()) + " parts has no values of its own",
                       .expected = "a tensor of one part",
                       .fix = "take one part: t.parts[0]"});
  TensorType type = t.type();
  Part part = t.part();
  const bool dense = part.format.is_all_dense();
  // Spare capacity, and batches that begin at equal distances, are part of the values as they are shown.
  const std::int64_t used = used_values(part), slots = part.value_stride == 0 || dense ? used : part.values.size;
  const bool one = part.num_batches == 1;
  const bool fits =
      value_stride == 0 ? values.size >= 1 || slots == 0 : values.size == slots || (one && values.size == used);
  const bool apart = !one && (part.value_stride == 0) != (value_stride == 0);
  if (!fits || apart)
    throw TensorError({.what = "the values do not fit the pattern",
                       .expected = std::to_string(slots) + " of them, one for each slot",
                       .got = std::to_string(values.size)});
  if (dense && value_stride == 0) {
    values =
        slots == 0 ? Buffer::allocate(values.dtype, 0) : Buffer::filled(Scalar::load(values.dtype, values.data), slots);
    value_stride = 1;
  }
  if (dense) {
    part.strides = row_major_strides(part.ranges);
    part.values_offset = 0;
    type.strides.clear();
  }
  type.dtype = values.dtype;
  type.fill = type.fill.as(values.dtype);
  type.shared_value = value_stride == 0;
  part.values = std::move(values);
  part.value_stride = value_stride;
  std::vector<Part> parts;  // (a list in braces would copy the part once more)
  parts.push_back(std::move(part));
  return make_from_parts(std::move(type), std::move(parts));
}

}  // namespace strata
