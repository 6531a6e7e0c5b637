// The border: no array is believed before it has been seen.
#include <algorithm>

#include "backend/steps.h"
#include "base/checked.h"
#include "tensor/tensor_impl.h"

namespace strata {

void check_shape(const Format& format, const Shape& shape) {
  if (static_cast<int>(shape.size()) != format.rank())
    throw TensorError({.what = "the shape does not have the format's number of dimensions",
                       .expected = std::to_string(format.rank()),
                       .got = std::to_string(shape.size()),
                       .fix = "format " + format.to_string()});
  for (std::size_t d = 0; d < shape.size(); ++d)
    if (shape[d] < 0)
      throw TensorError({.what = "a negative extent",
                         .expected = "0 or more",
                         .got = std::to_string(shape[d]) + " in dimension " + std::to_string(d)});
}

namespace {

/// crd's dtype can hold the level's coordinates, and padded's mark is none of them.
void check_crd_dtype(const storage::LevelView& v) {
  if (!storage::lists_coordinates(v.level, v.range.size)) return;
  if (v.range.lo < 0 && is_unsigned_int(v.crd.dtype))
    storage::fail(v, "coordinates start below zero", "a signed crd dtype", std::string(name_of(v.crd.dtype)));
  if (v.level.kind == LevelKind::padded) {
    if (v.range.lo < 0)
      storage::fail(v, "padded levels mark unused slots by all ones, which is -1", "coordinates from 0 on",
                    "from " + std::to_string(v.range.lo));
    if (is_unsigned_int(v.crd.dtype) && v.crd.dtype != DType::u64 && v.range.size > all_ones(v.crd.dtype))
      storage::fail(v, "the mark of unused slots, all ones, is also a coordinate", "a wider crd dtype",
                    std::string(name_of(v.crd.dtype)));
  }
}

void check_values(const Part& part, DType dtype, std::int64_t slots, std::int64_t batch_count) {
  const auto refuse = [&](const std::string& expected) {
    throw TensorError({.what = "values are too short", .expected = expected, .got = std::to_string(part.values.size)});
  };
  if (part.values.dtype != dtype)
    throw DTypeError({.what = "values have another dtype than the tensor",
                      .expected = std::string(name_of(dtype)),
                      .got = std::string(name_of(part.values.dtype))});
  if (slots == 0 || batch_count == 0) return;
  const auto span = checked_mul(slots - 1, part.value_stride);
  const auto last = span ? checked_add(*span, (batch_count - 1) * part.values_batch_stride) : std::nullopt;
  if (!last || *last >= part.values.size)
    refuse(last ? std::to_string(*last + 1) + " elements" : "more elements than 64 bits count");
  if (batch_count > 1 && *span >= part.values_batch_stride && part.value_stride != 0)
    refuse(std::to_string(*span + 1) + " elements per batch");
}

}  // namespace

void check_dense(const Part& part, DType dtype) {
  if (part.values.dtype != dtype)
    throw DTypeError({.what = "values have another dtype than the tensor",
                      .expected = std::string(name_of(dtype)),
                      .got = std::string(name_of(part.values.dtype))});
  Int128 low = part.values_offset, high = low;
  for (std::size_t l = 0; l < part.ranges.size(); ++l) {
    if (part.ranges[l].size == 0) return;
    const Int128 reach = static_cast<Int128>(part.strides[l]) * (part.ranges[l].size - 1);
    (reach < 0 ? low : high) += reach;
  }
  if (low < 0 || high >= part.values.size)
    throw TensorError({.what = "the strides of a dense tensor lead outside of its values",
                       .expected = "elements 0 to " + std::to_string(part.values.size - 1),
                       .got = high >= part.values.size ? "one behind them" : "one in front of them"});
}

void check_batches(const Part& part) {
  if (batch_levels(part) == 0) return;
  try {
    storage::require_memory(batches(part), sizeof(Buffer));
  } catch (const std::bad_alloc&) {
    throw TensorError({.what = "more batches than memory could name",
                       .expected = "each batch is looked at, also where it stores nothing",
                       .got = std::to_string(batches(part))});
  }
}

void check_part(const Part& part, const Shape& shape, DType dtype) {
  const DimensionMap map(part.format, part.ranges, shape);  // refuses sizes that do not combine
  if (part.format.is_all_dense()) return check_dense(part, dtype);
  const int first = batch_levels(part);
  const std::int64_t count = batches(part);
  check_batches(part);
  std::int64_t most = 0;
  for (std::int64_t b = 0; b < count; ++b) {
    poll_at(b + 1);
    const auto views = level_views(part, b);
    std::vector<std::int64_t> counts(views.size() + 1, 1);
    for (std::size_t l = static_cast<std::size_t>(first); l < views.size(); ++l) {
      check_crd_dtype(views[l]);
      try {
        counts[l + 1] = storage::storage_of(views[l].level.kind).check({views, counts, static_cast<int>(l)});
      } catch (const TensorError& e) {
        if (count == 1) throw;
        Problem p = e.problem();
        p.what += " (batch " + std::to_string(b) + ")";
        throw TensorError(std::move(p));
      }
    }
    most = std::max(most, counts.back());
  }
  check_values(part, dtype, most, count);
}

}  // namespace strata
