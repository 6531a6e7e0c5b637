#pragma once
#include <string_view>

#include "strata/format.h"

namespace strata {

/// May a format or a level type be called so? A letter, then letters, digits and '_': at most 64 characters.
inline bool is_own_name(std::string_view name) {
  const auto is_letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
  bool word = !name.empty() && name.size() <= max_name && is_letter(name[0]);
  for (const char c : name) word = word && (is_letter(c) || (c >= '0' && c <= '9'));
  return word;
}

}  // namespace strata
