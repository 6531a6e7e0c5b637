#include "base/suggest.h"

#include <algorithm>
#include <array>

namespace strata {

int edit_distance(std::string_view a, std::string_view b) {
  constexpr std::size_t longest = 64;
  if (a.size() > longest || b.size() > longest) return a == b ? 0 : static_cast<int>(std::max(a.size(), b.size()));
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; };
  std::array<std::array<int, longest + 1>, 3> rows{};  // the last two rows and the one being filled
  for (std::size_t j = 0; j <= b.size(); ++j) rows[0][j] = static_cast<int>(j);
  for (std::size_t i = 1; i <= a.size(); ++i) {
    auto& row = rows[i % 3];
    const auto& up = rows[(i + 2) % 3];
    const auto& up2 = rows[(i + 1) % 3];
    row[0] = static_cast<int>(i);
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const bool same = lower(a[i - 1]) == lower(b[j - 1]);
      row[j] = std::min({up[j] + 1, row[j - 1] + 1, up[j - 1] + !same});
      if (i > 1 && j > 1 && lower(a[i - 1]) == lower(b[j - 2]) && lower(a[i - 2]) == lower(b[j - 1]))
        row[j] = std::min(row[j], up2[j - 2] + 1);
    }
  }
  return rows[a.size() % 3][b.size()];
}

std::string_view closest(std::string_view word, std::span<const std::string_view> candidates) {
  std::string_view best;
  int least = std::max(1, static_cast<int>(word.size()) / 3) + 1;
  for (const auto c : candidates) {
    const int d = edit_distance(word, c);
    // "comp" means "compressed" although many letters are missing.
    const bool prefix =
        word.size() >= 3 && c.size() > word.size() && edit_distance(word, c.substr(0, word.size())) == 0;
    const int score = prefix ? std::min(d, 1) : d;
    if (score < least) least = score, best = c;
  }
  return best;
}

}  // namespace strata
