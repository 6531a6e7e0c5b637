#pragma once
#include "compiler/merge.h"
#include "reference/column.h"

namespace strata::direct {

/// As the general path names it.
inline evaluation::Monoid monoid_of(merging::Combine c) {
  static_assert(static_cast<int>(merging::Combine::first) == static_cast<int>(evaluation::Monoid::first));
  return static_cast<evaluation::Monoid::Kind>(c);
}

}  // namespace strata::direct
