// Any bytes are a format or a FormatError; a format prints to a text that is the same format, and its maps invert each
// other.
#include <cstdint>
#include <cstdlib>
#include <string_view>
#include <vector>

#include "strata/format.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace strata;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  try {
    const Format f = parse_format(text, size > 0 ? data[0] % 5 - 1 : -1);
    if (!(parse_format(f.to_string()) == f) || !(parse_format(f.to_blog_string()) == f) || !(Format(f.spec()) == f))
      std::abort();
    if (parse_format(f.to_string()).hash() != f.hash()) std::abort();
    const std::string name = f.hash() % 8 == 0 ? f.name() : "";  // tries every family: slow
    if (!name.empty() && !(parse_format(name) == f)) std::abort();
    for (int p = 0; p < f.num_parts(); ++p) {
      const Format part = f.part(p);
      std::vector<std::int64_t> dims(static_cast<std::size_t>(f.rank())), back(dims.size()),
          lvls(static_cast<std::size_t>(part.num_levels()));
      for (std::size_t d = 0; d < dims.size(); ++d) dims[d] = static_cast<std::int64_t>((size * 31 + d * 17) % 97);
      part.dim2lvl(dims, lvls);
      part.lvl2dim(lvls, back);
      if (back != dims) std::abort();
      try {
        part.level_ranges(std::vector<std::int64_t>(dims.size(), 100));
      } catch (const FormatError&) {  // blocks that exceed 64 bits
      }
    }
  } catch (const FormatError& e) {
    if (e.problem().where.end > size && !e.problem().text.empty()) std::abort();
  }
  return 0;
}
