#pragma once
// Many columns, panel by panel: those of x that a panel needs are packed, so that they stay in a core's second level
// while rows of A choose from them. (Where they lie in x they would not: rows of x that begin a power of two apart
// share few sets of a cache.) Each worker packs its own, unless they are many: what another core has just written is
// slower to fetch than to copy.
#include <cstring>
#include <vector>

#include "base/share.h"
#include "kernels/caches.h"
#include "kernels/match.h"
#include "strata/buffer.h"

namespace strata::kernels {

/// Bytes of x that rows of A pass over at a time (0: all of them), and how many elements a row has in each.
struct Tile {
  i64 size = 0;
  double elements = 0;
};

/// Elements of a row in a tile that pay for it.
inline constexpr i64 enough_in_tile = 24;

/// The smaller the tile, the nearer it lies; but a row must have elements enough in each. (Measured for uniform
/// matrices of 4096 and 8192 rows, 50 to 99 % sparse, 64 and 128 columns.)
inline Tile tile_bytes(i64 rows, i64 stored, i64 x_bytes) {
  constexpr i64 smallest = 64 << 10;
  if (rows == 0 || x_bytes <= 4 * smallest) return {};
  const double row = static_cast<double>(stored) / static_cast<double>(rows);
  const auto each = [&](i64 tile) { return row * static_cast<double>(tile) / static_cast<double>(x_bytes); };
  if (x_bytes < machine().second_level)
    return each(smallest) >= 2 * enough_in_tile ? Tile{smallest, each(smallest)} : Tile{};
  const i64 largest = machine().second_level / 4;
  const double overflow = static_cast<double>(x_bytes) / static_cast<double>(machine().second_level);
  if (each(largest) < 8 || each(largest) * overflow * overflow < enough_in_tile) return {};
  i64 tile = smallest;
  while (tile < largest && each(tile) < enough_in_tile) tile *= 2;
  tile = std::min(tile, largest);
  return {tile, each(tile)};
}

/// Rows of x between a row's first element and its last.
template <class C> i64 reach(const C* crd, i64 start, i64 stop) {
  return std::abs(static_cast<i64>(crd[stop - 1]) - static_cast<i64>(crd[start]));
}

/// Is `test(start, stop)` so of most of 64 rows of A, those that store something?
template <class P, class F> bool most_rows(i64 rows, const P* pos, const F& test) {
  constexpr i64 samples = 64;
  i64 passed = 0;
  for (i64 s = 0; s < samples; ++s) {
    const i64 i = rows * s / samples;
    const auto [start, stop] = std::pair(static_cast<i64>(pos[i]), static_cast<i64>(pos[i + 1]));
    if (start < stop && test(start, stop)) ++passed;
  }
  return passed > samples / 2;
}

/// Do most rows of A choose from all over x? (More than a quarter of its rows lie between the first and the last
/// element. Rows of a mesh choose from few places, which the caches hold without help.)
template <class P, class C> bool rows_spread(i64 rows, i64 columns, const P* pos, const C* crd) {
  return most_rows(rows, pos, [&](i64 start, i64 stop) { return reach(crd, start, stop) > columns / 4; });
}

/// Do most rows of A reach so far over x (rows of `row_bytes`) that what lies between falls out of a third level,
/// shared as it is, before the next rows of A read it again?
template <class P, class C> bool reaches_far(i64 rows, const P* pos, const C* crd, i64 row_bytes) {
  return most_rows(rows, pos, [&](i64 start, i64 stop) { return reach(crd, start, stop) * row_bytes > far_bytes; });
}

/// Elements that choose from a row of x that one worker packs, from which on that pays.
inline constexpr i64 enough_of_packed = 12;

/// Columns of a panel; 0: x is better read where it lies. Panels stay in the second level, or have tiles that do.
/// (Measured for uniform matrices of 4096 to 32768 columns, 4 to 400 elements a row, 64 to 512 columns of x: up to 3
/// times as fast.) The number of threads does not decide on them: it must not on how a row is summed. `narrowest`:
/// bytes of a panel, at least.
template <class V, class P, class C> i64 panel_columns(i64 rows, i64 rows_of_x, const P* pos, const C* crd,
                                                       bool ordered, i64 narrowest, const Dense<V>& d) {
  const i64 element = static_cast<i64>(sizeof(V)), stored = rows > 0 ? static_cast<i64>(pos[rows]) : 0,
            row = d.columns * element, x_bytes = rows_of_x * row;
  const auto stays = [&](i64 bytes) { return rows_of_x * bytes <= machine().second_level / 2; };
  const auto tiles = [&](i64 bytes) {
    return ordered && tile_bytes(rows, stored, rows_of_x * bytes).elements >= enough_in_tile;
  };
  if (x_bytes >= machine().second_level && !(x_bytes <= machine().second_level * 5 / 4 && tiles(row))) {
    i64 bytes = 0;
    if (stays(512) || (tiles(512) && !stays(256))) bytes = 512;
    else if (stays(256) || tiles(256)) bytes = 256;
    else if (stays(128)) bytes = 128;
    else if (stays(64)) bytes = 64;
    if (bytes >= narrowest && bytes < row && stored >= enough_of_packed * rows_of_x &&
        rows_spread(rows, rows_of_x, pos, crd))
      return bytes / element;
  }
  // All columns, where rows of x straddle lines. (Sums are the same, packed or not.) Read by lines they have one more,
  // which matters the less the longer they are: what packing saves stays the same, what it takes does not.
  const bool straddle = row % (line_bytes / 2) == 0 &&
                        (reinterpret_cast<std::uintptr_t>(d.x) % line_bytes != 0 || d.ldx * element % line_bytes != 0);
  const i64 reads =
      enough_of_packed * (loops().by_lines(d.x, element, d.ldx, d.columns) ? std::max<i64>(1, row / 256) : 1);
  return straddle && stays(row) && stored >= reads * rows_of_x * thread_count() ? d.columns : 0;
}

/// The panels of x.
template <class V> class Panels {
 public:
  Panels(DType dtype, i64 rows_of_x, i64 width, const Dense<V>& whole)
      : dtype_(dtype), rows_(rows_of_x), width_(width), whole_(whole), held_(static_cast<std::size_t>(max_threads)) {}

  i64 count() const { return (whole_.columns + width_ - 1) / width_; }

  /// The dense sides of panel p, packed by the worker that asks, whose panel before is no more.
  Dense<V> own(i64 p) {
    Held& mine = held_[static_cast<std::size_t>(worker_index())];
    const Dense<V> d = sides(p, mine);
    if (mine.panel != p) pack(p, mine, 0, rows_);
    mine.panel = p;
    return d;
  }

  /// The same for all workers, packed by all of them. The panel before is no more.
  Dense<V> shared(i64 p) {
    const Dense<V> d = sides(p, held_[0]);
    const i64 chunks = chunk_count(rows_ * d.columns / 4);
    parallel_for(chunks, [&](i64 c) {
      pack(p, held_[0], begin_of_share(rows_, c, chunks), begin_of_share(rows_, c + 1, chunks));
    });
    return d;
  }

 private:
  struct Held {
    Buffer packed;
    i64 panel = -1;
  };

  i64 columns(i64 p) const { return std::min(width_, whole_.columns - p * width_); }

  Dense<V> sides(i64 p, Held& to) const {
    if (!to.packed.data) to.packed = Buffer::allocate(dtype_, rows_ * width_);
    Dense<V> d = whole_;
    d.x = static_cast<const V*>(to.packed.data);
    d.columns = d.ldx = columns(p);
    d.out += p * width_;
    d.streaming = false;
    return d;
  }

  void pack(i64 p, const Held& to, i64 begin, i64 end) const {
    const i64 n = columns(p);
    V* row = static_cast<V*>(to.packed.data) + begin * n;
    for (i64 i = begin; i < end; ++i, row += n)
      std::memcpy(row, whole_.x + i * whole_.ldx + p * width_, static_cast<std::size_t>(n) * sizeof(V));
  }

  DType dtype_;
  i64 rows_, width_;
  Dense<V> whole_;
  std::vector<Held> held_;
};

}  // namespace strata::kernels
