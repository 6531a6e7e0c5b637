#pragma once
// In which order the rows of a matrix choose rows of a dense operand: it decides how these are best asked for before
// they are read.
#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>

#include "base/far_apart.h"

namespace strata {

enum class RowOrder : std::uint8_t {
  any,        ///< not known
  identical,  ///< most rows choose what their neighbours choose, in blocks of four rows or more
  none,       ///< no order
  steps,      ///< what the row before chose, or what lies beside it (blocks, renumbered meshes)
  along,      ///< the same along a diagonal (bands, meshes)
};

/// Bytes of a dense operand from which on rows of four lines or more, chosen in no order, are asked for twice: into the
/// second level, and from there into the first.
inline constexpr std::int64_t twice_bytes = 16 << 20;

/// Where rows of A follow a diagonal: how far behind the number of a row of A lies the row to ask for, which rows 16
/// further on are the first to need. Nothing where the last elements of rows do not keep to a diagonal within `slack`
/// columns.
template <class P, class C> std::optional<std::int64_t> lead_along(std::int64_t rows, const P* pos, const C* crd,
                                                                   std::int64_t slack) {
  constexpr std::int64_t samples = 64, ahead = 16;
  std::array<std::int64_t, samples> ends;
  std::size_t n = 0;
  for (std::int64_t s = 0; s < samples; ++s)
    if (const std::int64_t i = rows * s / samples; i < rows && pos[i] < pos[i + 1])
      ends[n++] = static_cast<std::int64_t>(crd[pos[i + 1] - 1]) - i;
  if (n < samples / 2) return {};
  std::sort(ends.begin(), ends.begin() + static_cast<std::ptrdiff_t>(n));
  const std::int64_t lead = ends[n * 7 / 8];
  if (lead - ends[n / 4] > slack) return {};
  return lead + ahead;
}

/// none, steps or along; then with the lead.
struct SampledOrder {
  RowOrder order = RowOrder::none;
  std::int64_t lead = 0;
};
template <class P, class C> SampledOrder row_order(std::int64_t rows, const P* pos, const C* crd, std::int64_t slack) {
  if (rows == 0 || !in_step(crd, static_cast<std::int64_t>(pos[rows]))) return {};
  const auto lead = lead_along(rows, pos, crd, slack);
  return lead ? SampledOrder{RowOrder::along, *lead} : SampledOrder{RowOrder::steps};
}

}  // namespace strata
