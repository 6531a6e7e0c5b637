// Any bytes as a .st file: refused with a FileError, or tensors that obey their formats. Then once more as a header and
// arrays, the header's checksum made right and those of the arrays not looked at, so that what they guard is reached.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>

#include "strata/io.h"
#include "strata/ops.h"
#include "support/container_bytes.h"

namespace {

using namespace strata;

void look(const std::string& bytes, Verify verify) {
  try {
    const Buffer held = Buffer::copy_of(std::span<const char>(bytes.data(), bytes.size()));
    for (const auto& [name, t] : parse_container(held, "f", verify)) {
      t.validate();
      if (t.dtype() == DType::boolean && verify == Verify::header) continue;  // its bytes are believed
      if (t.size() && *t.size() <= 1 << 12 && t.nbytes() <= 1 << 20)
        static_cast<void>(convert_general(t, parse_format("dense", t.rank())));
    }
  } catch (const FileError& e) {
    if (std::string_view(e.what()).substr(0, 1) != "f") std::abort();
  } catch (const Error&) {}  // what validate and convert refuse
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string bytes(reinterpret_cast<const char*>(data), size);
  look(bytes, Verify::all);
  // A zero byte ends the header.
  const std::size_t cut = std::min(bytes.find('\0'), bytes.size());
  const std::string made = testing::container_bytes(std::string_view(bytes).substr(0, cut),
                                                    std::string_view(bytes).substr(std::min(size, cut + 1)));
  look(made, Verify::header);
  return 0;
}
