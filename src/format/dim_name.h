#pragma once
// Names of dimensions that come as objects, not as a text.
#include <string>

#include "strata/format_fault.h"

namespace strata {

/// FormatError where it does not fit; whether it is a name at all is seen when the format is checked. (A name ends at
/// its first zero: what stands behind one would be lost unseen.)
inline void set_dim_name(FormatSpec& spec, int d, const std::string& name) {
  if (name.size() > max_name)
    throw FormatError({.what = "the name of a dimension is too long",
                       .expected = "at most 64 characters",
                       .got = name.substr(0, 100)});
  if (name.find('\0') != std::string::npos)
    throw FormatError(
        {.what = "this is not the name of a dimension", .expected = "A to Z, a to z, 0 to 9 and '_'", .got = name});
  detail::put_name(spec.dims[static_cast<std::size_t>(d)], name);
}

}  // namespace strata
