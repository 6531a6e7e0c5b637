// Any bytes as a FROSTT file: refused with a FileError that names the line, or a valid tensor. The first byte chooses
// how it is read: the dtype of its values, and whether the shape is told.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "strata/io.h"
#include "strata/ops.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace strata;
  if (size == 0) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  const DType dtypes[] = {DType::f64, DType::i64, DType::u64};
  FrosttOptions options{.dtype = dtypes[data[0] % 3]};
  if (data[0] & 128) options.shape = {4, 5, 6};
  try {
    const Tensor t = parse_frostt(text, "<text>", options);
    t.validate();
    // What was read has no more elements than the text has characters.
    if (t.nse() > static_cast<std::int64_t>(size)) std::abort();
  } catch (const FileError& e) {
    if (std::string_view(e.what()).find("line ") == std::string_view::npos) std::abort();
  }
  return 0;
}
