// Checks of coordinate lists, each at the speed of reading them once.
#include "convert/coordinate_lists.h"

#include <algorithm>

#include "backend/steps.h"
#include "base/checked.h"
#include "levels/index_view.h"

namespace strata::conversion {
namespace {

/// `coordinate` as it is read; of uint64 the number that was given is told.
[[noreturn]] void out_of_range(std::size_t d, std::int64_t extent, std::int64_t element, std::int64_t coordinate,
                               bool beyond) {
  const std::string given =
      beyond ? std::to_string(static_cast<std::uint64_t>(coordinate)) : std::to_string(coordinate);
  throw IndexError({.what = "coordinate out of range in dimension " + std::to_string(d),
                    .expected = "0 to " + std::to_string(extent - 1),
                    .got = given + " for element " + std::to_string(element)});
}

}  // namespace

void check_lists(std::span<const Buffer> coords, std::int64_t values, const Shape& shape) {
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
    if (coords[d].size != values)
      throw TensorError({.what = name + " and values differ in length",
                         .expected = std::to_string(values),
                         .got = std::to_string(coords[d].size)});
  }
}

void check_coordinates(std::span<const Buffer> coords, const Shape& shape) {
  constexpr std::int64_t chunk = 1 << 16;
  for (std::size_t d = 0; d < coords.size(); ++d) {
    const std::int64_t n = coords[d].size, extent = shape[d];
    const IndexView list(coords[d]);
    with_index_type(coords[d].dtype, [&]<class T>(T) {
      parallel_for(ceil_div(n, chunk), [&](std::int64_t part) {
        const std::int64_t begin = part * chunk, end = std::min(n, begin + chunk);
        const auto at = [&](std::int64_t k) {
          return static_cast<std::int64_t>(load_as<T>(list.data + k * static_cast<std::int64_t>(sizeof(T))));
        };
        bool bad = false;
        for (std::int64_t k = begin; k < end; ++k) bad |= at(k) < 0 || at(k) >= extent;
        for (std::int64_t k = begin; bad && k < end; ++k)
          if (at(k) < 0 || at(k) >= extent) out_of_range(d, extent, k, at(k), coords[d].dtype == DType::u64);
      });
    });
  }
}

void read_lists(std::span<const Buffer> coords, std::int64_t values, const Shape& shape,
                const std::function<void(std::int64_t, std::int64_t, const std::int64_t* const*)>& f) {
  constexpr std::int64_t step = 1024;
  std::vector<std::vector<std::int64_t>> columns(coords.size(), std::vector<std::int64_t>(step));
  std::vector<const std::int64_t*> dims(coords.size());
  for (std::int64_t begin = 0; begin < values; begin += step) {
    poll_at(begin);
    const std::int64_t n = std::min(step, values - begin);
    for (std::size_t d = 0; d < coords.size(); ++d) {
      IndexView(coords[d]).read(begin, n, columns[d].data());
      for (std::int64_t k = 0; k < n; ++k)
        if (const auto c = columns[d][static_cast<std::size_t>(k)]; c < 0 || c >= shape[d])
          out_of_range(d, shape[d], begin + k, c, coords[d].dtype == DType::u64);
      dims[d] = columns[d].data();
    }
    f(begin, n, dims.data());
  }
}

}  // namespace strata::conversion
