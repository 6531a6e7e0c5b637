// Any bytes as a Matrix Market file: refused with a FileError, or a valid tensor.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "strata/io.h"
#include "strata/ops.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  try {
    const strata::Tensor t = strata::parse_matrix_market(text);
    t.validate();
    // What was read has no more elements than the text has lines, twice for mirrored ones, and no duplicates.
    if (!t.format().is_all_dense() && t.nse() > static_cast<std::int64_t>(2 * size)) std::abort();
  } catch (const strata::FileError& e) {
    if (std::string_view(e.what()).find("line ") == std::string_view::npos) std::abort();
  }
  return 0;
}
