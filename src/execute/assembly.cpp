#include "execute/assembly.h"

#include <cstring>

#include "backend/pool.h"

namespace strata::execution {
namespace {

using i64 = std::int64_t;

/// Larger arrays with the same beginning.
void grow(Buffer& b, DType dtype, i64 used, i64 size) {
  Buffer more = Buffer::allocate(dtype, size);
  if (used > 0) std::memcpy(more.data, b.data, static_cast<std::size_t>(used) * size_of(dtype));
  b = std::move(more);
}

Buffer prefix(Buffer b, i64 size) {
  b.size = size;
  return b;
}

template <class F> void with_positions(const Buffer& b, const F& f) {
  if (b.dtype == DType::i32) f(static_cast<std::int32_t*>(b.data));
  else f(static_cast<i64*>(b.data));
}

}  // namespace

void Assembly::reserve(Piece& p, std::vector<i64> capacity) const {
  p.crd.resize(levels);
  p.pos.resize(levels);
  p.sizes.resize(levels);
  for (std::size_t l = 0; l < levels; ++l) {
    if (l > 0 || !dense_top) grow(p.crd[l], crd, p.sizes[l], capacity[l]);
    if (l > 0 && !(l == 1 && dense_top)) grow(p.pos[l], DType::i64, p.sizes[l - 1], capacity[l - 1]);
  }
  if (p.values.size < capacity.back() * block) grow(p.values, values, p.sizes.back() * block, capacity.back() * block);
  p.capacity = std::move(capacity);
}

RawArrays Assembly::stitch(std::vector<Piece>& pieces, const Buffer& counts, const Buffer& whole) const {
  std::vector<std::vector<i64>> starts(levels, std::vector<i64>(pieces.size() + 1, 0));
  for (std::size_t l = 0; l < levels; ++l)
    for (std::size_t c = 0; c < pieces.size(); ++c) starts[l][c + 1] = starts[l][c] + pieces[c].sizes[l];
  const i64 stored = starts.back().back() * block;
  const DType pos_dtype = index_dtype_for(starts.back().back());
  RawArrays arrays;
  const auto crd_width = static_cast<i64>(size_of(crd)), width = static_cast<i64>(size_of(values));
  const bool alone = pieces.size() == 1;
  // Memory that is nearly full serves as it is.
  const bool adopt = alone && 2 * stored >= pieces[0].values.size,
             in_place = !adopt && stored > 0 && whole.size == stored;
  for (std::size_t l = 0; l < levels; ++l) {
    const int level = static_cast<int>(l);
    if (l == 0 && dense_top) continue;
    const i64 parents = l == 0 ? 1 : l == 1 && dense_top ? top_extent : starts[l - 1].back();
    arrays.pos[level] = Buffer::allocate(pos_dtype, parents + 1);
    arrays.pos[level].set_index(0, 0);
    if (l == 0) arrays.pos[level].set_index(1, starts[0].back());
    arrays.crd[level] = adopt ? prefix(pieces[0].crd[l], starts[l].back()) : Buffer::allocate(crd, starts[l].back());
  }
  arrays.values = adopt ? prefix(pieces[0].values, stored) : in_place ? whole : Buffer::allocate(values, stored);
  if (dense_top) {
    i64 sum = 0;
    const auto* n = static_cast<const i64*>(counts.data);
    with_positions(arrays.pos[1], [&](auto* to) {
      for (i64 x = 0; x < top_extent; ++x) to[x + 1] = static_cast<std::decay_t<decltype(*to)>>(sum += n[x]);
    });
  }
  parallel_for(static_cast<i64>(pieces.size()), [&](i64 chunk) {
    const auto c = static_cast<std::size_t>(chunk);
    Piece& p = pieces[c];
    for (std::size_t l = 0; l < levels; ++l) {
      const int level = static_cast<int>(l);
      if (l == 0 && dense_top) continue;
      if (!adopt && p.sizes[l] > 0)
        std::memcpy(static_cast<char*>(arrays.crd.at(level).data) + starts[l][c] * crd_width, p.crd[l].data,
                    static_cast<std::size_t>(p.sizes[l] * crd_width));
      if (l == 0 || (l == 1 && dense_top)) continue;
      const auto* ends = static_cast<const i64*>(p.pos[l].data);
      with_positions(arrays.pos.at(level), [&](auto* to) {
        for (i64 k = 0; k < p.sizes[l - 1]; ++k)
          to[starts[l - 1][c] + k + 1] = static_cast<std::decay_t<decltype(*to)>>(ends[k] + starts[l][c]);
      });
    }
    if (!adopt && !in_place && p.sizes.back() > 0)
      std::memcpy(static_cast<char*>(arrays.values.data) + starts.back()[c] * block * width, p.values.data,
                  static_cast<std::size_t>(p.sizes.back() * block * width));
    if (!adopt) p = {};
  });
  return arrays;
}

}  // namespace strata::execution
