#pragma once
// "Did you mean": the nearest of some words.
#include <span>
#include <string_view>

namespace strata {

/// Edit distance (insert, delete, replace, swap of neighbours), ignoring case; anything longer than 64 bytes is far
/// from everything.
int edit_distance(std::string_view a, std::string_view b);

/// The nearest candidate, or "" where none is near enough to be meant (about a third of the word).
std::string_view closest(std::string_view word, std::span<const std::string_view> candidates);

}  // namespace strata
