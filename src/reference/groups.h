#pragma once
// Elements on their way into groups: what a reduction gathers, slab by slab.
#include "reference/tree.h"

namespace strata::evaluation {

/// Coordinates of the group variables, a value, and how many elements went into it.
struct Groups {
  Rows rows;
  Column values;
  Ints count;

  /// Adds up those with equal coordinates, which come out sorted.
  void combine_equal(Monoid m, const Extents& extents);
  void append(const Groups& more);
};

/// The listed coordinates of these variables alone.
Rows project(const Rows& rows, std::span<const int> vars);
/// Where `v` has a value; `v.present` is not empty.
Ints present_rows(const NodeValues& v);

}  // namespace strata::evaluation
