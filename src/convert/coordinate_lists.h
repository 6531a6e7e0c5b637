#pragma once
// Coordinates as they are handed in: a list a dimension, of any integers.
#include <span>

#include "convert/convert_elements.h"

namespace strata::conversion {

/// A list of integers for each dimension, as long as there are values. TensorError, DTypeError.
void check_lists(std::span<const Buffer> coords, std::int64_t values, const Shape& shape);
/// IndexError: a coordinate outside of the shape.
void check_coordinates(std::span<const Buffer> coords, const Shape& shape);
/// Calls f(begin, n, dims) for runs of up to 1024 elements, in order; dims[d] are their coordinates, checked.
void read_lists(std::span<const Buffer> coords, std::int64_t values, const Shape& shape,
                const std::function<void(std::int64_t, std::int64_t, const std::int64_t* const*)>& f);

}  // namespace strata::conversion
