#pragma once
// What a level's arrays mean, in plain C++: the slow, obvious twin of the compiled cursors. One file per kind, one
// table.
#include <array>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "format/registered_levels.h"
#include "levels/index_view.h"
#include "strata/buffer.h"
#include "strata/error.h"

namespace strata::storage {

/// c - lo may lie beyond 64 bits: compared without a sign.
inline bool outside(const LevelRange& r, std::int64_t c) {
  return c < r.lo ||
         static_cast<std::uint64_t>(c) - static_cast<std::uint64_t>(r.lo) >= static_cast<std::uint64_t>(r.size);
}

/// Children of one parent that have a slot whatever is stored: size, n or k. (Of a level without pos, but a singleton.)
inline std::int64_t width_of(const Level& level, const LevelRange& range) {
  if (levels::is_registered(level.kind)) return levels::slots_of(level, range);
  return level.kind == LevelKind::structured || level.kind == LevelKind::padded ? level.arg : range.size;
}

/// One level of one batch: what is needed to read it, without owners.
struct LevelView {
  Level level;
  LevelRange range;
  int index = 0;       ///< of the level in its part, for messages
  int bits = 0;        ///< per packed coordinate
  IndexView pos, crd;  ///< packed: crd counts bytes; bitmap: u64 words
  // dense, range: position = parent * scale + (coordinate - lo) * step (all-dense tensors walk their strides)
  std::int64_t scale = 0, step = 1;

  std::int64_t width() const { return width_of(level, range); }
  std::int64_t coordinate(std::int64_t position) const {
    return bits ? unpack_one(crd.data, position, bits) : crd[position];
  }
  /// crd entries begin .. begin + count - 1, unpacked.
  void read_crd(std::int64_t begin, std::int64_t count, std::int64_t* out) const {
    if (!bits) return crd.read(begin, count, out);
    for (std::int64_t k = 0; k < count; ++k) out[k] = unpack_one(crd.data, begin + k, bits);
  }
  std::int64_t crd_capacity() const;  ///< entries that fit in crd
  bool bit(std::int64_t row, std::int64_t offset) const {
    return load_as<std::uint64_t>(crd.data + 8 * (row * bitmap_words(range.size) + offset / 64)) >> (offset % 64) & 1;
  }
};

/// Which arrays a kind has.
inline bool has_pos(LevelKind k) {
  if (levels::is_registered(k)) return levels::registered(k).has_pos;
  return k == LevelKind::compressed || k == LevelKind::delta || k == LevelKind::bitmap;
}
inline bool has_crd(LevelKind k) {
  if (levels::is_registered(k)) return levels::registered(k).has_crd;
  return has_pos(k) || k == LevelKind::singleton || k == LevelKind::structured || k == LevelKind::padded;
}

/// Is crd an array of coordinates, as they are? (Packed ones and bits are none, and of a registered type its texts
/// say.)
inline bool lists_coordinates(const Level& level, std::int64_t size) {
  return has_crd(level.kind) && level.kind != LevelKind::bitmap && packed_bits(level, size) == 0 &&
         !levels::is_registered(level.kind);
}

/// Children that a walk has found, in bounded pieces: `full` is called whenever there is no room for more, and must
/// empty it.
struct Children {
  static constexpr int capacity = 1024;
  int n = 0;
  std::array<std::int32_t, capacity> parent;  ///< index into the parents handed to walk
  std::array<std::int64_t, capacity> coordinate, position;
  /// Per parent handed to walk, first and last + 1 of the coordinates (counted from the level's first) that lie in the
  /// matrix; null: all do. Only dense and range levels look at it: what the others list is tested afterwards, one by
  /// one.
  const std::int64_t *first = nullptr, *last = nullptr;
  std::function<void()> full;

  int room() {
    if (n == capacity) full();
    return capacity - n;
  }
};

/// The parents' own parents are checked already: levels [0, l) hold what they declare, counts[k] positions are the
/// parents of level k.
struct CheckInput {
  std::span<const LevelView> levels;
  std::span<const std::int64_t> counts;
  int l;
  const LevelView& view() const { return levels[static_cast<std::size_t>(l)]; }
  std::int64_t parents() const { return counts[static_cast<std::size_t>(l)]; }
};

/// Elements sorted by level coordinates, all different; on entry `position` holds each element's parent position,
/// afterwards its own.
struct BuildInput {
  Level level;  ///< padded: arg is the k to use
  LevelRange range;
  int index = 0,
      chain_end = 0;  ///< chain_end: last of the singleton levels that follow a nonunique level, otherwise index
  std::int64_t parents = 1;
  std::int64_t n = 0;
  std::int64_t* position = nullptr;
  const std::int64_t* coordinate = nullptr;
  const std::uint8_t* differs = nullptr;  ///< first level in which an element differs from the one before
  DType crd_dtype = DType::i32;
  bool starts(std::int64_t e) const { return e == 0 || differs[e] <= chain_end; }
};
struct Built {
  Buffer pos;  ///< i64
  Buffer crd;
  std::int64_t positions = 0;
};

struct LevelStorage {
  /// Every invariant of the level's arrays (TensorError naming the level). Returns its number of positions.
  std::int64_t (*check)(const CheckInput& in);
  /// Positions below so many parents; trusts the arrays.
  std::int64_t (*positions)(const LevelView& v, std::int64_t parents);
  /// Appends the children of n parent positions, in order.
  void (*walk)(const LevelView& v, const std::int64_t* parents, int n, Children& out);
  /// Every position with this coordinate (which lies in the level's range) below one parent.
  void (*find)(const LevelView& v, std::int64_t parent, std::int64_t coordinate,
               const std::function<void(std::int64_t)>& visit);
  /// The level's arrays for given elements; fill-in slots are added where the kind needs them.
  Built (*build)(const BuildInput& in);
};

const LevelStorage& storage_of(LevelKind kind);

/// Entries of crd that are in use: a coordinate for each position; words of a bitmap; what a registered type says.
std::int64_t crd_entries(const LevelView& v, std::int64_t parents, std::int64_t positions);
/// The coordinate of a position of a registered level; `before`: that of the position before, or lo - 1.
std::int64_t registered_coordinate(const LevelView& v, std::int64_t parent, std::int64_t position, std::int64_t before);

extern const LevelStorage dense_storage, compressed_storage, singleton_storage, delta_storage, structured_storage,
    padded_storage, bitmap_storage, registered_storage;

// --- shared by the kinds ---
[[noreturn]] void fail(const LevelView& v, const std::string& what, const std::string& expected = {},
                       const std::string& got = {}, const std::string& fix = {});
[[noreturn]] void fail(const Level& level, int index, const std::string& what, const std::string& expected = {},
                       const std::string& got = {}, const std::string& fix = {});
std::string level_name(const Level& level, int index);  ///< "level 1 (compressed)"
/// pos starts at 0, never decreases, and ends within the capacity. Returns its end.
std::int64_t check_pos(const LevelView& v, std::int64_t parents, std::int64_t capacity);
/// parents * width, overflow-checked.
std::int64_t checked_positions(const LevelView& v, std::int64_t parents);
/// std::bad_alloc where an array of so many entries exceeds this machine's memory (a system that overcommits would say
/// so too late).
void require_memory(std::int64_t entries, std::int64_t width);
/// A packed or plain crd array for so many entries; packed ones start as zeros.
Buffer allocate_crd(const Level& level, std::int64_t size, DType crd_dtype, std::int64_t entries);

}  // namespace strata::storage
