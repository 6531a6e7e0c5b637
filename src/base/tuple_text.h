#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace strata {

/// A shape as Python prints it: "(3, 4)", "(5,)", "()".
inline std::string tuple_text(const std::vector<std::int64_t>& shape) {
  std::string out = "(";
  for (std::size_t d = 0; d < shape.size(); ++d) out += (d ? ", " : "") + std::to_string(shape[d]);
  return out + (shape.size() == 1 ? ",)" : ")");
}

}  // namespace strata
