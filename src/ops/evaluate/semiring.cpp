// Semirings by name.
#include <algorithm>

#include "strata/evaluate.h"

namespace strata {

Semiring parse_semiring(std::string_view name) {
  std::string plain(name);
  std::replace(plain.begin(), plain.end(), '_', '-');
  for (int k = 0; k <= static_cast<int>(Semiring::any); ++k)
    if (plain == name_of(static_cast<Semiring>(k))) return static_cast<Semiring>(k);
  throw ExpressionError({.what = "no semiring '" + std::string(name) + "'",
                         .expected = "plus-times, min-plus, max-plus, max-times, or-and, any",
                         .got = std::string(name)});
}
std::string_view name_of(Semiring s) {
  constexpr std::string_view names[] = {"plus-times", "min-plus", "max-plus", "max-times", "or-and", "any"};
  return names[static_cast<std::size_t>(s)];
}

}  // namespace strata
