#pragma once
// A box of a tensor that may reach beyond it: what padding makes, and what a padded access reads.
#include <span>

#include "strata/convert.h"

namespace strata {

/// Coordinates least[d] .. least[d] + shape[d] - 1 of each dimension, counted from 0 on. Outside of the tensor they
/// hold its fill. Format as of slice(). TensorError: coordinates beyond 64 bits.
Tensor window(const Tensor& t, std::span<const std::int64_t> least, const Shape& shape);

/// The same with a compressed level per dimension, in which what lies outside is absent, and every slot of `t` is
/// stored.
Tensor sparse_window(const Tensor& t, std::span<const std::int64_t> least, const Shape& shape);

/// Their formats: as of a slice, and rows that are moved as a whole have no more elements than before.
Format format_of_window(const Format& f);
Format format_of_sparse_window(int rank);

}  // namespace strata
