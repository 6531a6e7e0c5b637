#pragma once
// Where the values of a reduction that stands inside a product are asked for.
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "plan/asked.h"

namespace strata::direct {

/// Where this tensor, under these indices, stores something; without one everywhere.
struct Places {
  std::optional<Lazy> tensor = {};
  std::vector<std::string> indices = {};
  bool operator==(const Places& o) const {
    return indices == o.indices && tensor.has_value() == o.tensor.has_value() &&
           (!tensor || tensor->same_object(*o.tensor));
  }
};

/// The places over fewer indices, where one of them is: true in each.
Lazy projected(const Places& places, const std::vector<std::string>& indices);

/// Makes `step`, a reduction whose dense operands give it a value everywhere, one of values in these places alone:
/// Q(i,d) * K(j,d) where A(i,j) stores something, Q(i,h,d) * K(j,h,d) there for all h, E(i,d) * F(k,d) where some
/// A(i,j,k) does. `options` gain its format and mask, `operands` what it names. False: it is left as it is, since that
/// would save little.
bool restrict_to(const Places& places, Assignment& step, Asked& options, Operands& operands);

}  // namespace strata::direct
