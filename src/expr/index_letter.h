#pragma once
#include <string>
#include <string_view>

namespace strata {

/// "i", "j", ... by number: identifiers in emitted text are ours only.
inline std::string index_letter(int index) {
  constexpr std::string_view letters = "ijklmnoqrstuvwxyz";
  if (index >= 0 && index < static_cast<int>(letters.size()))
    return std::string(1, letters[static_cast<std::size_t>(index)]);
  return "x" + std::to_string(index < 0 ? 0 : index);
}

}  // namespace strata
