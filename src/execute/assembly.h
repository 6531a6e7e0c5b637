#pragma once
// Results whose pattern is found while they are computed: each chunk appends to a piece of its own, with more room
// where it did not fit; the pieces are stitched.
#include <vector>

#include "execute/arguments.h"

namespace strata::execution {

/// What one chunk appends to.
struct Piece {
  std::vector<Buffer> crd, pos;  ///< per level
  Buffer values;
  std::vector<std::int64_t> sizes, capacity;
};

/// Compressed levels, the first of which may be dense instead.
class LevelAssembly {
 public:
  std::size_t levels = 0;
  bool dense_top = false;
  std::int64_t top_extent = 0;  ///< of a dense top
  DType crd = DType::i32, values = DType::f64;
  std::int64_t block = 1;  ///< values below one element of the last level

  /// Room for so many elements of each level; what the piece holds stays.
  void reserve(Piece& p, std::vector<std::int64_t> capacity) const;
  /// call(), until what it appends to `p` fits.
  template <class F> void append(Piece& p, const F& call) const {
    const std::vector<std::int64_t> before = p.sizes;
    for (;;) {
      call();
      std::vector<std::int64_t> needed = p.sizes;
      bool fits = true;
      for (std::size_t l = 0; l < levels; ++l) {
        fits = fits && needed[l] <= p.capacity[l];
        needed[l] = needed[l] <= p.capacity[l] ? p.capacity[l] : needed[l] + needed[l] / 2;
      }
      if (fits) return;
      p.sizes = before;  // once more, now that it is known how much is needed (unless an operand changes meanwhile)
      reserve(p, std::move(needed));
    }
  }
  /// The arrays of the result, and nothing left of the pieces. `counts`: children of each coordinate of a dense top.
  /// `whole`: memory of all values, of which the pieces have parts; empty: each has its own.
  RawArrays stitch(std::vector<Piece>& pieces, const Buffer& counts, const Buffer& whole) const;
};

}  // namespace strata::execution
