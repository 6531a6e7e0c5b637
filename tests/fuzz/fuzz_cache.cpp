// Any bytes as an entry of the kernel cache: a miss, or exactly the entry that we would have written.
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "backend/disk_cache.h"

namespace {

/// In memory where the system has such a place: entries are synchronised to their disk.
struct Folder {
  std::string path =
      (std::filesystem::exists("/dev/shm") ? "/dev/shm" : std::filesystem::temp_directory_path().string()) +
      "/strata-fuzz-XXXXXX";
  Folder() {
    if (!mkdtemp(path.data())) std::abort();
  }
  ~Folder() { std::filesystem::remove_all(path); }
};

const std::string& folder() {
  static const Folder f;
  return f.path;
}

std::string contents(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream all;
  all << in.rdbuf();
  return all.str();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace strata;
  const Digest key = sha256("fuzz");
  const std::string file = folder() + "/" + to_hex(key) + ".kernel";
  // The first byte says how: the bytes as they are, or a good entry damaged at places that the bytes choose.
  const bool damage = size > 0 && data[0] % 2 == 1;
  std::string bytes(reinterpret_cast<const char*>(data), size);
  if (damage) {
    write_cache_entry(folder(), key, bytes);
    bytes = contents(file);
    for (std::size_t k = 1; k + 2 < size; k += 3) {
      const std::size_t at = (data[k] + 256u * data[k + 1]) % bytes.size();
      bytes[at] = static_cast<char>(bytes[at] ^ data[k + 2]);
    }
  }
  std::ofstream(file, std::ios::binary | std::ios::trunc) << bytes;
  if (const auto payload = read_cache_entry(folder(), key)) {
    if (!write_cache_entry(folder(), key, *payload) || contents(file) != bytes) std::abort();
  }
  return 0;
}
