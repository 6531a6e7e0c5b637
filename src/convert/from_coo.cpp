// A tensor from coordinate lists.
#include "convert/coordinate_lists.h"
#include "convert/fast/fast.h"

namespace strata {
namespace {

using namespace conversion;

/// The lists as they are, as an unordered COO tensor: for matrices with plain index types, whose conversions are fast.
/// Null otherwise.
std::optional<Tensor> as_unordered_coo(std::span<const Buffer> coords, const Buffer& values, const Shape& shape,
                                       const Scalar& fill) {
  const DType t = shape.size() == 2 ? coords[0].dtype : DType::boolean;
  if (coords.size() != 2 || coords[1].dtype != t || (t != DType::i32 && t != DType::i64)) return {};
  for (const Buffer& c : coords)
    if (reinterpret_cast<std::uintptr_t>(c.data) % size_of(t) != 0) return {};
  check_coordinates(coords, shape);
  thread_local const Format coo =
      parse_format("(i, j) -> (i : compressed(nonunique, unordered), j : singleton(nonunique, unordered))");
  RawArrays arrays;
  arrays.pos[0] = Buffer::allocate(DType::i64, 2);
  static_cast<std::int64_t*>(arrays.pos[0].data)[0] = 0;
  static_cast<std::int64_t*>(arrays.pos[0].data)[1] = values.size;
  arrays.crd[0] = coords[0];
  arrays.crd[1] = coords[1];
  arrays.values = values;
  return make_tensor(coo, shape, std::move(arrays), fill, false);
}

}  // namespace

Tensor from_coo(std::span<const Buffer> coords, const Buffer& given, const Shape& shape, const Format& format,
                const ConvertOptions& options, std::optional<Scalar> fill) {
  // Duplicates are added in the dtype asked for: two uint8 of 200 are 400 in int64.
  const Buffer values = options.dtype && *options.dtype != given.dtype ? given.cast(*options.dtype) : given;
  check_shape(format, shape);
  check_split(options.split, format);
  check_lists(coords, values.size, shape);
  if (options.zeros == Zeros::drop) {
    ConvertOptions stored = options;
    stored.zeros = Zeros::automatic;
    return drop_zeros(from_coo(coords, values, shape, format, stored, fill));
  }
  const Scalar absent = as_fill(fill ? fill->as(values.dtype) : Scalar::zero(values.dtype));
  if (const auto coo = as_unordered_coo(coords, values, shape, absent)) return convert(*coo, format, options);
  const auto emit = [&](const Sink& sink) {
    const auto width = static_cast<std::int64_t>(size_of(values.dtype));
    read_lists(coords, values.size, shape, [&](std::int64_t begin, std::int64_t n, const std::int64_t* const* dims) {
      sink({static_cast<int>(n), dims, static_cast<const char*>(values.data) + begin * width});
    });
  };
  return assemble({emit, values.size}, values.dtype, absent, shape, format, options);
}

}  // namespace strata
