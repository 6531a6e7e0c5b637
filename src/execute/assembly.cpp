#include "execute/assembly.h"

#include "backend/backend.h"

namespace strata::execution {
namespace {

using i64 = std::int64_t;

/// Larger arrays with the same beginning.
void grow(Buffer& b, DType dtype, i64 used, i64 size) {
  Buffer more = backend().allocate(dtype, size);
  if (used > 0) backend().copy(more.data, b.data, used * static_cast<i64>(size_of(dtype)));
  b = std::move(more);
}

Buffer prefix(Buffer b, i64 size) {
  b.size = size;
  return b;
}

}  // namespace

void LevelAssembly::reserve(Piece& p, std::vector<i64> capacity) const {
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

RawArrays LevelAssembly::stitch(std::vector<Piece>& pieces, const Buffer& counts, const Buffer& whole) const {
  std::vector<std::vector<i64>> starts(levels, std::vector<i64>(pieces.size() + 1, 0));
  for (std::size_t l = 0; l < levels; ++l)
    for (std::size_t c = 0; c < pieces.size(); ++c) starts[l][c + 1] = starts[l][c] + pieces[c].sizes[l];
  const i64 stored = starts.back().back() * block;
  const DType pos_dtype = index_dtype_for(starts.back().back());
  RawArrays arrays;
  const bool alone = pieces.size() == 1;
  // Memory that is nearly full serves as it is.
  const bool adopt = alone && 2 * stored >= pieces[0].values.size,
             in_place = !adopt && stored > 0 && whole.size == stored;
  for (std::size_t l = dense_top ? 1 : 0; l < levels; ++l) {
    const int level = static_cast<int>(l);
    const i64 parents = l == 0 ? 1 : l == 1 && dense_top ? top_extent : starts[l - 1].back();
    arrays.pos[level] = backend().allocate(pos_dtype, parents + 1);
    arrays.pos[level].set_index(0, 0);
    if (l == 0) arrays.pos[level].set_index(1, starts[0].back());
    arrays.crd[level] = adopt ? prefix(pieces[0].crd[l], starts[l].back()) : backend().allocate(crd, starts[l].back());
  }
  arrays.values = adopt ? prefix(pieces[0].values, stored) : in_place ? whole : backend().allocate(values, stored);
  if (dense_top) backend().scan(arrays.pos[1], counts);
  in_chunks(static_cast<i64>(pieces.size()), [&](i64 chunk) {
    const auto c = static_cast<std::size_t>(chunk);
    Piece& p = pieces[c];
    const auto copy = [&](const Buffer& to, i64 at, const Buffer& from, i64 n) {
      const auto each = static_cast<i64>(size_of(to.dtype));
      if (n > 0) backend().copy(static_cast<char*>(to.data) + at * each, from.data, n * each);
    };
    for (std::size_t l = dense_top ? 1 : 0; l < levels; ++l) {
      const int level = static_cast<int>(l);
      if (!adopt) copy(arrays.crd.at(level), starts[l][c], p.crd[l], p.sizes[l]);
      if (l > (dense_top ? 1u : 0u))
        backend().copy_positions(arrays.pos.at(level), starts[l - 1][c] + 1, p.pos[l], p.sizes[l - 1], starts[l][c]);
    }
    if (!adopt && !in_place) copy(arrays.values, starts.back()[c] * block, p.values, p.sizes.back() * block);
    if (!adopt) p = {};
  });
  return arrays;
}

}  // namespace strata::execution
