// Some levels take memory for what is not stored: bits for every place, slots to cross gaps, rows of equal length.
#include "convert/convert_memory.h"

#include <algorithm>
#include <cstdio>

#include "backend/allocator.h"

namespace strata::conversion {
namespace {

class OutOfMemoryForLevel : public OutOfMemory {
 public:
  OutOfMemoryForLevel(const OutOfMemory& cause, const char* reason) noexcept : OutOfMemory(cause) {
    std::snprintf(text_, sizeof text_, "%s: %s", cause.what(), reason);
  }
  const char* what() const noexcept override { return text_; }

 private:
  char text_[320];  // no string: that would allocate
};

/// Writes why a level takes much more than the elements do, if it does.
bool reason(const Tensor& t, const Format& part, char* text, std::size_t size) {
  constexpr double much = 10;
  const double elements = std::max(1.0, static_cast<double>(t.nse())), width = static_cast<double>(size_of(t.dtype())),
               stored = elements * (width + 8);
  const auto ranges = part.level_ranges(t.shape());
  double places = 1;  // of the levels so far, each coordinate of each one
  for (int l = 0; l < part.num_levels(); ++l) {
    const Level& level = part.level(l);
    const double parents = std::min(places, elements), before = places;
    places *= std::max(1.0, static_cast<double>(ranges[static_cast<std::size_t>(l)].size));
    if (level.kind == LevelKind::bitmap &&
        before * static_cast<double>(ranges[static_cast<std::size_t>(l)].size) / 8 > much * stored)
      return std::snprintf(text, size,
                           "a bitmap has a bit for each of %.3g places, whatever is stored (%.3g elements): compressed "
                           "levels have none",
                           places, elements) > 0;
    if (level.kind == LevelKind::delta && level.arg < 62) {
      const double step = static_cast<double>(std::int64_t{1} << level.arg),
                   gap = places / before * parents / elements / step;
      if (gap > much)
        return std::snprintf(text, size,
                             "delta(%d) crosses gaps by a slot for every %.0f coordinates, %.3g for each of %.3g "
                             "elements: a delta of more bits, or compressed, needs fewer",
                             static_cast<int>(level.arg), step, gap, elements) > 0;
    }
    if (level.kind == LevelKind::range &&
        parents * static_cast<double>(ranges[static_cast<std::size_t>(l)].size) * width > much * stored)
      return std::snprintf(text, size, "each diagonal that holds an element is stored whole, of which there are %.3g",
                           elements) > 0;
    if (level.kind == LevelKind::padded)
      return std::snprintf(text, size, "every row has as many slots as the longest") > 0;
  }
  return false;
}

}  // namespace

void rethrow_with_reason(const Tensor& t, const Format& format) {
  try {
    throw;
  } catch (const OutOfMemoryForLevel&) { throw; } catch (const OutOfMemory& cause) {
    char text[240];
    for (int k = 0; k < format.num_parts(); ++k)
      if (reason(t, format.part(k), text, sizeof text)) throw OutOfMemoryForLevel(cause, text);
    throw;
  }
}

}  // namespace strata::conversion
