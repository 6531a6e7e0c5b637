#pragma once
// Where the coordinates of a dimension go when some are taken: to no place, to one, or to several.
#include <algorithm>
#include <cstdint>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

namespace strata::slicing {

class NewPlaces {
 public:
  NewPlaces(std::span<const std::int64_t> coordinates, std::int64_t extent, std::int64_t stored)
      : places_(coordinates.size()) {
    std::iota(places_.begin(), places_.end(), 0);
    std::ranges::sort(places_, {},
                      [&](std::int64_t k) { return std::pair(coordinates[static_cast<std::size_t>(k)], k); });
    // A table costs less than a search for each element, where it is not far longer than there are elements.
    if (extent <= std::max<std::int64_t>(1024, 4 * (stored + static_cast<std::int64_t>(coordinates.size())))) {
      begin_.assign(static_cast<std::size_t>(extent) + 1, 0);
      for (std::int64_t c : coordinates) ++begin_[static_cast<std::size_t>(c) + 1];
      std::inclusive_scan(begin_.begin(), begin_.end(), begin_.begin());
    } else {
      for (std::int64_t k : places_) sorted_.push_back(coordinates[static_cast<std::size_t>(k)]);
    }
  }

  /// Ascending.
  std::span<const std::int64_t> of(std::int64_t coordinate) const {
    if (!begin_.empty()) {
      const std::int64_t begin = begin_[static_cast<std::size_t>(coordinate)],
                         end = begin_[static_cast<std::size_t>(coordinate) + 1];
      return {places_.data() + begin, static_cast<std::size_t>(end - begin)};
    }
    const auto [begin, end] = std::ranges::equal_range(sorted_, coordinate);
    return {places_.data() + (begin - sorted_.begin()), static_cast<std::size_t>(end - begin)};
  }

 private:
  std::vector<std::int64_t> places_, begin_, sorted_;
};

}  // namespace strata::slicing
