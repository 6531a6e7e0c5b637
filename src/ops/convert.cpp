// The verb that moves a tensor from one storage to another, and its relatives: any format to any format.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "backend/allocator.h"
#include "backend/steps.h"
#include "base/checked.h"
#include "ops/convert_memory.h"
#include "ops/drop_zeros.h"
#include "ops/fast/fast.h"

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

/// A split has a meaning, and there are parts to split into.
void check_split(const Split& split, const Format& format) {
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

}  // namespace

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

Tensor convert_general(const Tensor& t, const Format& format, const ConvertOptions& options) {
  check_rank(t, format);
  check_split(options.split, format);
  if (options.zeros == Zeros::drop) return drop(t, format, options, true);
  return assemble(stored_elements(t, options.zeros), t.dtype(), t.fill(), t.shape(), format, options);
}

Tensor convert(const Tensor& t, const Format& format, const ConvertOptions& options) {
  check_rank(t, format);
  check_split(options.split, format);
  if (options.zeros == Zeros::drop) return drop(t, format, options);
  if (nothing_to_do(t, format, options)) return t;
  if (options.zeros == Zeros::automatic && format.is_all_dense()) {
    ConvertOptions as_stored = options;
    as_stored.zeros = Zeros::exact;  // every element is stored there: with its sign
    return convert(t, format, as_stored);
  }
  if (options.dtype && *options.dtype != t.dtype() &&
      format.is_unique()) {  // elsewhere two values may stand for one element: their sum is cast
    ConvertOptions same = options;
    same.dtype.reset();
    return with_dtype(convert(t, format, same), *options.dtype);
  }
  try {
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
  const Source all = stored_elements(dense, Zeros::keep);
  const auto width = size_of(dense.dtype());
  const auto kept = [&](const Sink& sink) {
    std::vector<std::vector<std::int64_t>> columns(static_cast<std::size_t>(dense.rank()));
    std::vector<const std::int64_t*> dims(columns.size());
    std::vector<char> values;
    all.emit([&](const Piece& p) {
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

namespace {

/// `coordinate` as it is read; of uint64 the number that was given is told.
[[noreturn]] void out_of_range(std::size_t d, std::int64_t extent, std::int64_t element, std::int64_t coordinate,
                               bool beyond = false) {
  const std::string given =
      beyond ? std::to_string(static_cast<std::uint64_t>(coordinate)) : std::to_string(coordinate);
  throw IndexError({.what = "coordinate out of range in dimension " + std::to_string(d),
                    .expected = "0 to " + std::to_string(extent - 1),
                    .got = given + " for element " + std::to_string(element)});
}

template <class I> void check_coordinates(const I* c, std::int64_t n, std::size_t d, std::int64_t extent) {
  constexpr std::int64_t chunk = 1 << 16;
  parallel_for(ceil_div(n, chunk), [&](std::int64_t part) {
    const std::int64_t begin = part * chunk, end = std::min(n, begin + chunk);
    bool bad = false;
    for (std::int64_t k = begin; k < end; ++k) bad |= c[k] < 0 || static_cast<std::int64_t>(c[k]) >= extent;
    for (std::int64_t k = begin; bad && k < end; ++k)
      if (c[k] < 0 || static_cast<std::int64_t>(c[k]) >= extent)
        out_of_range(d, extent, k, static_cast<std::int64_t>(c[k]));
  });
}

/// The lists as they are, as an unordered COO tensor: for matrices with plain index types, whose conversions are fast.
/// Null otherwise.
std::optional<Tensor> as_unordered_coo(std::span<const Buffer> coords, const Buffer& values, const Shape& shape) {
  const DType t = shape.size() == 2 ? coords[0].dtype : DType::boolean;
  if (coords.size() != 2 || coords[1].dtype != t || (t != DType::i32 && t != DType::i64)) return {};
  for (const Buffer& c : coords)
    if (reinterpret_cast<std::uintptr_t>(c.data) % size_of(t) != 0) return {};
  for (std::size_t d = 0; d < 2; ++d) {
    if (t == DType::i32) check_coordinates(static_cast<const std::int32_t*>(coords[d].data), values.size, d, shape[d]);
    else check_coordinates(static_cast<const std::int64_t*>(coords[d].data), values.size, d, shape[d]);
  }
  static const Format coo =
      parse_format("(i, j) -> (i : compressed(nonunique, unordered), j : singleton(nonunique, unordered))");
  RawArrays arrays;
  arrays.pos[0] = Buffer::allocate(DType::i64, 2);
  static_cast<std::int64_t*>(arrays.pos[0].data)[0] = 0;
  static_cast<std::int64_t*>(arrays.pos[0].data)[1] = values.size;
  arrays.crd[0] = coords[0];
  arrays.crd[1] = coords[1];
  arrays.values = values;
  return make_tensor(coo, shape, std::move(arrays), {}, false);
}

}  // namespace

Tensor from_coo(std::span<const Buffer> coords, const Buffer& given, const Shape& shape, const Format& format,
                const ConvertOptions& options) {
  // Duplicates are added in the dtype asked for: two uint8 of 200 are 400 in int64.
  const Buffer values = options.dtype && *options.dtype != given.dtype ? given.cast(*options.dtype) : given;
  check_shape(format, shape);
  check_split(options.split, format);
  if (coords.size() != shape.size())
    throw TensorError({.what = "one list of coordinates per dimension is needed",
                       .expected = std::to_string(shape.size()),
                       .got = std::to_string(coords.size())});
  for (std::size_t d = 0; d < coords.size(); ++d) {
    const std::string name = "coordinates of dimension " + std::to_string(d);
    if (!is_index(coords[d].dtype))
      throw DTypeError({.what = name + " must be integers",
                        .expected = "int8 to int64 or uint8 to uint64",
                        .got = std::string(name_of(coords[d].dtype))});
    if (coords[d].size != values.size)
      throw TensorError({.what = name + " and values differ in length",
                         .expected = std::to_string(values.size),
                         .got = std::to_string(coords[d].size)});
  }
  if (options.zeros == Zeros::drop) {
    ConvertOptions stored = options;
    stored.zeros = Zeros::automatic;
    return drop_zeros(from_coo(coords, values, shape, format, stored));
  }
  if (const auto coo = as_unordered_coo(coords, values, shape)) return convert(*coo, format, options);
  const auto emit = [&](const Sink& sink) {
    constexpr std::int64_t step = 1024;
    std::vector<std::vector<std::int64_t>> columns(coords.size(), std::vector<std::int64_t>(step));
    std::vector<const std::int64_t*> dims(coords.size());
    const auto width = static_cast<std::int64_t>(size_of(values.dtype));
    for (std::int64_t begin = 0; begin < values.size; begin += step) {
      poll_at(begin);
      const std::int64_t n = std::min(step, values.size - begin);
      for (std::size_t d = 0; d < coords.size(); ++d) {
        IndexView(coords[d]).read(begin, n, columns[d].data());
        for (std::int64_t k = 0; k < n; ++k)
          if (const auto c = columns[d][static_cast<std::size_t>(k)]; c < 0 || c >= shape[d])
            out_of_range(d, shape[d], begin + k, c, coords[d].dtype == DType::u64);
        dims[d] = columns[d].data();
      }
      sink({static_cast<int>(n), dims.data(), static_cast<const char*>(values.data) + begin * width});
    }
  };
  return assemble({emit, values.size}, values.dtype, Scalar::zero(values.dtype), shape, format, options);
}

Tensor to_dense(const Tensor& t) { return convert(t, dense_format(t.rank())); }

}  // namespace strata
