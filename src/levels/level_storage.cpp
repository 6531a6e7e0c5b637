#include "levels/level_storage.h"

#include <unistd.h>

#include <algorithm>

#include "backend/allocator.h"

namespace strata::storage {

const LevelStorage& storage_of(LevelKind kind) {
  if (levels::is_registered(kind)) return registered_storage;
  switch (kind) {
    case LevelKind::compressed: return compressed_storage;
    case LevelKind::singleton: return singleton_storage;
    case LevelKind::delta: return delta_storage;
    case LevelKind::structured: return structured_storage;
    case LevelKind::padded: return padded_storage;
    case LevelKind::bitmap: return bitmap_storage;
    default: return dense_storage;  // batch levels are walked outside; range differs only in what clips it
  }
}

std::int64_t LevelView::crd_capacity() const {
  if (level.kind == LevelKind::bitmap) return crd.size;
  if (!bits) return crd.size;
  const std::int64_t bytes = std::max<std::int64_t>(0, crd.size - packed_slack);
  const auto total = checked_mul(bytes, 8);
  return total ? *total / bits : bytes / bits * 8;
}

std::string level_name(const Level& level, int index) {
  return "level " + std::to_string(index) + " (" + std::string(name_of(level.kind)) + ")";
}

void fail(const Level& level, int index, const std::string& what, const std::string& expected, const std::string& got,
          const std::string& fix) {
  throw TensorError({.what = level_name(level, index) + ": " + what, .expected = expected, .got = got, .fix = fix});
}
void fail(const LevelView& v, const std::string& what, const std::string& expected, const std::string& got,
          const std::string& fix) {
  fail(v.level, v.index, what, expected, got, fix);
}

std::int64_t checked_positions(const LevelView& v, std::int64_t parents) {
  const auto n = checked_mul(parents, v.width());
  if (!n)
    fail(v, "more slots than 64 bits count", "at most " + std::to_string(INT64_MAX),
         std::to_string(parents) + " x " + std::to_string(v.width()));
  return *n;
}

std::int64_t check_pos(const LevelView& v, std::int64_t parents, std::int64_t capacity) {
  if (v.pos.size <= parents)
    fail(v, "pos is too short", std::to_string(parents) + " + 1 entries", std::to_string(v.pos.size));
  if (v.pos[0] != 0) fail(v, "pos does not start at 0", "0", std::to_string(v.pos[0]));
  std::array<std::int64_t, 1024> chunk;
  std::int64_t before = 0;
  for (std::int64_t p = 0; p <= parents; p += 1024) {
    const auto n = std::min<std::int64_t>(1024, parents + 1 - p);
    v.pos.read(p, n, chunk.data());
    std::int64_t bad = chunk[0] < before;
    for (std::int64_t k = 1; k < n; ++k)
      bad |= chunk[static_cast<std::size_t>(k)] < chunk[static_cast<std::size_t>(k - 1)];
    if (bad)
      for (std::int64_t k = 0; k < n; ++k) {
        const auto entry = chunk[static_cast<std::size_t>(k)];
        if (entry < before)
          fail(v, "pos decreases", "pos[" + std::to_string(p + k) + "] at least " + std::to_string(before),
               std::to_string(entry));
        before = entry;
      }
    before = chunk[static_cast<std::size_t>(n - 1)];
  }
  if (before > capacity)
    fail(v, "pos ends beyond the coordinates", "at most " + std::to_string(capacity), std::to_string(before),
         "pass crd with at least pos[-1] entries");
  return before;
}

void require_memory(std::int64_t entries, std::int64_t width) {
  static const std::int64_t physical = [] {
    const auto bytes = checked_mul(sysconf(_SC_PHYS_PAGES), sysconf(_SC_PAGESIZE));
    return bytes && *bytes > 0 ? *bytes : INT64_MAX;
  }();
  const auto bytes = checked_mul(entries, width);
  if (!bytes || *bytes > physical) throw OutOfMemory(bytes.value_or(-1));
}

Buffer allocate_crd(const Level& level, std::int64_t size, DType crd_dtype, std::int64_t entries) {
  const int bits = packed_bits(level, size);
  require_memory(entries, static_cast<std::int64_t>(size_of(crd_dtype)));
  if (bits) return Buffer::zeros(DType::u8, packed_bytes(entries, bits) + packed_slack);
  return Buffer::allocate(crd_dtype, entries);
}

}  // namespace strata::storage
