// The verb that moves a tensor from one storage to another, and its relatives: any format to any format.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "backend/allocator.h"
#include "backend/steps.h"
#include "base/checked.h"
#include "convert/convert_memory.h"
#include "convert/drop_zeros.h"
#include "convert/fast/fast.h"
#include "convert/recast.h"

namespace strata {
namespace {

using namespace conversion;

void check_rank(const Tensor& t, const Format& format) {
  if (t.rank() != format.rank())
    throw TensorError({.what = "the format has another number of dimensions than the tensor",
                       .expected = std::to_string(t.rank()),
                       .got = std::to_string(format.rank()) + " in " + format.to_string()});
}

bool nothing_to_do(const Tensor& t, const Format& format, const ConvertOptions& options) {
  const TensorType& type = t.type();
  if (!(type.format == format) || options.split.kind != Split::automatic || !type.strides.empty() || type.shared_value)
    return false;
  for (int k = 0; k < t.num_parts(); ++k)
    for (const Level& level : t.part(k).format.levels())
      if (level.kind == LevelKind::padded && level.arg == 0) return false;
  return options.dtype.value_or(type.dtype) == type.dtype &&
         options.pos_dtype.value_or(type.pos_dtype) == type.pos_dtype &&
         options.crd_dtype.value_or(type.crd_dtype) == type.crd_dtype;
}

/// |x - fill| <= threshold, in double; never for NaN.
bool near(const Scalar& x, const Scalar& fill, double threshold) {
  return std::abs(x.to_complex() - fill.to_complex()) <= threshold;
}

}  // namespace

void conversion::check_split(const Split& split, const Format& format) {
  const auto refuse = [](const std::string& what, const std::string& expected, const std::string& got) {
    throw TensorError({.what = what, .expected = expected, .got = got});
  };
  if (split.kind != Split::automatic && format.num_parts() == 1)
    refuse("split= says which elements go to which part", "a format of several parts, e.g. BSR(2, 2) + COO",
           format.to_string());
  if (split.kind == Split::rows && split.k < 0)
    refuse("split by rows takes a number of elements", "0 or more", std::to_string(split.k));
  if (split.kind == Split::band && split.lo > split.hi)
    refuse("split by a band that ends before it begins", "lo <= hi",
           std::to_string(split.lo) + " > " + std::to_string(split.hi));
  if (split.kind == Split::blocks && !(split.fill >= 0 && split.fill <= 1))
    refuse("split by blocks takes the share that is filled", "0 to 1", std::to_string(split.fill));
}

Tensor conversion::with_dtype(const Tensor& t, DType dtype) {
  TensorType type = t.type();
  type.dtype = dtype;
  type.fill = type.fill.as(dtype);
  std::vector<Part> parts;
  for (int k = 0; k < t.num_parts(); ++k) {
    parts.push_back(t.part(k));
    parts.back().values = parts.back().values.cast(dtype);
  }
  return make_from_parts(std::move(type), std::move(parts));
}

namespace {
/// An all-dense result stores every element: zeros of the source with their sign.
Zeros zeros_for(const Format& format, Zeros asked) {
  return asked == Zeros::automatic && format.is_all_dense() ? Zeros::exact : asked;
}
}  // namespace

Tensor convert_general(const Tensor& t, const Format& format, const ConvertOptions& options) {
  check_rank(t, format);
  check_split(options.split, format);
  if (options.zeros == Zeros::drop) return drop(t, format, options, true);
  const bool same = t.num_parts() == 1 && nothing_to_do(t, format, options);
  const Zeros zeros = same ? Zeros::keep : zeros_for(format, options.zeros);
  return assemble(stored_elements(t, zeros), t.dtype(), t.fill(), t.shape(), format, options);
}

Tensor convert(const Tensor& t, const Format& format, const ConvertOptions& options) {
  check_rank(t, format);
  check_split(options.split, format);
  if (options.zeros == Zeros::drop) return drop(t, format, options);
  if (nothing_to_do(t, format, options)) return t;
  if (const Zeros zeros = zeros_for(format, options.zeros); zeros != options.zeros) {
    ConvertOptions as_stored = options;
    as_stored.zeros = zeros;
    return convert(t, format, as_stored);
  }
  if (options.dtype && *options.dtype != t.dtype() &&
      format.is_unique()) {  // elsewhere two values may stand for one element: their sum is cast
    ConvertOptions same = options;
    same.dtype.reset();
    return with_dtype(convert(t, format, same), *options.dtype);
  }
  try {
    if (auto result = recast(t, format, options)) return *result;
    if (auto result = fast::convert(t, format, options)) return *result;
    if (const auto nearer = fast::towards(t, format, options.zeros)) {
      ConvertOptions all = options;
      all.zeros = Zeros::keep;  // what was to be dropped is gone
      return convert(*nearer, format, all);
    }
    return convert_general(t, format, options);
  } catch (const OutOfMemory&) { rethrow_with_reason(t, format); }
}

Tensor from_dense(const Tensor& given, const Format& format, std::optional<double> least, std::optional<Scalar> fill) {
  check_rank(given, format);
  const double threshold = least.value_or(0);
  if (!(threshold >= 0))
    throw TensorError(
        {.what = "a threshold is a magnitude", .expected = "0 or more", .got = std::to_string(threshold)});
  const Scalar absent = as_fill(fill ? fill->as(given.dtype()) : given.fill());
  // What a sparse tensor does not store has its fill: under another one it must be written out.
  const bool whole = given.num_parts() == 1 && given.format().is_all_dense();
  const Tensor dense = whole || absent.same_bits(given.fill()) ? given : to_dense(given);
  if (threshold == 0 && absent.same_bits(dense.fill()))
    return convert(dense, format, {.zeros = least ? Zeros::automatic : Zeros::exact});
  const ElementSource all = stored_elements(dense, Zeros::keep);
  const auto width = size_of(dense.dtype());
  const auto kept = [&](const Sink& sink) {
    std::vector<std::vector<std::int64_t>> columns(static_cast<std::size_t>(dense.rank()));
    std::vector<const std::int64_t*> dims(columns.size());
    std::vector<char> values;
    all.emit([&](const ElementChunk& p) {
      for (auto& c : columns) c.clear();
      values.clear();
      int n = 0;
      for (int i = 0; i < p.n; ++i) {
        const char* address = p.values + static_cast<std::size_t>(i) * width;
        const Scalar x = Scalar::load(dense.dtype(), address);
        if ((least ? as_fill(x) : x).same_bits(absent) || (threshold > 0 && near(x, absent, threshold))) continue;
        for (std::size_t d = 0; d < columns.size(); ++d) columns[d].push_back(p.dims[d][i]);
        values.insert(values.end(), address, address + width);
        ++n;
      }
      for (std::size_t d = 0; d < columns.size(); ++d) dims[d] = columns[d].data();
      sink({n, dims.data(), values.data()});
    });
  };
  return assemble({kept}, dense.dtype(), absent, dense.shape(), format, {});
}

Tensor to_dense(const Tensor& t) { return convert(t, dense_format(t.rank())); }

}  // namespace strata
