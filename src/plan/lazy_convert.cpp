#include "plan/lazy_convert.h"

#include <algorithm>

namespace strata {

TensorType converted_type(const TensorType& t, double stored, const Format& format, std::optional<DType> dtype) {
  TensorType out = t;
  out.format = format;
  out.dtype = dtype.value_or(t.dtype);
  out.fill = t.fill.as(out.dtype);
  out.strides.clear();
  out.shared_value = false;
  std::int64_t largest = 1;
  for (const auto& r : format.level_ranges(t.shape)) largest = std::max(largest, r.size);
  out.crd_dtype = index_dtype_for(largest - 1);
  out.pos_dtype = index_dtype_for(static_cast<std::int64_t>(std::min(stored, 9e18)));
  return out;
}

planning::Lazy convert(const planning::Lazy& t, const Format& format, const ConvertOptions& options) {
  const double stored = t.stats().stored;
  TensorType type = converted_type(t.type(), stored, format, options.dtype);
  auto stats = planning::stats_for(type, stored);
  planning::Lazy::Step step{
      .inputs = {t},
      .make = [format, options](planning::Lazy::Inputs& in) { return convert(in[0], format, options); },
      .work = stored};
  return planning::Lazy::made(std::move(type), std::move(stats), std::move(step));
}

}  // namespace strata
