#pragma once
// What the shortcuts share: choosing C++ types, cutting rows, assembling the result.
#include <algorithm>
#include <complex>
#include <cstring>
#include <vector>

#include "backend/steps.h"
#include "base/checked.h"
#include "base/share.h"
#include "format/recognise.h"
#include "ops/fast/fast.h"
#include "strata/settings.h"
#include "tensor/tensor_impl.h"

namespace strata::fast {

using i64 = std::int64_t;
using i32 = std::int32_t;

/// Stores leave a core one after the other, each waiting for its line: scatters into more than `cached` bytes ask for
/// the lines of `early` elements later (measured: 1.6x, and nothing lost where neighbours share lines).
constexpr i64 cached = i64{1} << 20, early = 32;

/// An element moved by its bits.
struct Bits128 {
  std::uint64_t lo = 0, hi = 0;
  bool operator==(const Bits128&) const = default;
};
template <class F> void with_width(DType t, const F& f) {
  switch (size_of(t)) {
    case 1: return f(std::uint8_t{});
    case 2: return f(std::uint16_t{});
    case 4: return f(std::uint32_t{});
    case 8: return f(std::uint64_t{});
    default: return f(Bits128{});
  }
}

template <class T> bool aligned(const Buffer& b) { return reinterpret_cast<std::uintptr_t>(b.data) % alignof(T) == 0; }
inline bool aligned_values(const Tensor& t) {
  const std::size_t width = std::min<std::size_t>(size_of(t.dtype()), 8);
  return reinterpret_cast<std::uintptr_t>(t.part().values.data) % width == 0;
}

/// i32/i32 or i64/i64 arrays of a level: calls f(pos, crd) and returns true; false for other index types.
template <class F> bool with_indices(const LevelArrays& a, const F& f) {
  if (a.pos.dtype == DType::i32 && a.crd.dtype == DType::i32 && aligned<i32>(a.pos) && aligned<i32>(a.crd)) {
    f(static_cast<const i32*>(a.pos.data), static_cast<const i32*>(a.crd.data));
    return true;
  }
  if (a.pos.dtype == DType::i64 && a.crd.dtype == DType::i64 && aligned<i64>(a.pos) && aligned<i64>(a.crd)) {
    f(static_cast<const i64*>(a.pos.data), static_cast<const i64*>(a.crd.data));
    return true;
  }
  return false;
}

/// The index dtypes of the result: nothing where they are not i32 or i64.
struct IndexTypes {
  DType pos, crd;
  DType widest() const { return pos == DType::i64 || crd == DType::i64 ? DType::i64 : DType::i32; }
};
inline std::optional<IndexTypes> index_types(const Goal& goal, const Shape& shape, i64 stored) {
  i64 extent = 0;
  for (i64 e : shape) extent = std::max(extent, e);
  const IndexTypes t{goal.options.pos_dtype.value_or(index_dtype_for(stored)),
                     goal.options.crd_dtype.value_or(index_dtype_for(extent))};
  const auto plain = [](DType d) { return d == DType::i32 || d == DType::i64; };
  if (!plain(t.pos) || !plain(t.crd) || (t.pos == DType::i32 && stored > index_max(DType::i32)) ||
      (t.crd == DType::i32 && extent > index_max(DType::i32)))
    return {};
  return t;
}
template <class F> void with_index(DType t, const F& f) {
  if (t == DType::i32) f(i32{});
  else f(i64{});
}

inline Buffer as_dtype(const Buffer& b, DType t) { return b.dtype == t ? b : b.cast(t); }

/// The result: one part whose levels have these arrays (built in the widest index type, narrowed here, where all has
/// been counted).
inline Tensor assemble(const Tensor& source, const Goal& goal, IndexTypes types, std::vector<LevelArrays> levels,
                       Buffer values) {
  TensorType type = source.type();
  type.format = goal.format;
  type.crd_dtype = types.crd;
  type.strides.clear();
  type.shared_value = false;
  Part part;
  part.format = goal.format;
  part.ranges = goal.format.level_ranges(type.shape);
  part.levels = levels;
  if (!goal.options.pos_dtype) {
    const bool counts =
        values.size > std::min<i64>(settings().int32_limit, index_max(DType::i32));  // otherwise nse fits for sure
    types.pos = counts ? index_dtype_for(count_slots(part, type.shape)) : DType::i32;
  }
  type.pos_dtype = types.pos;
  for (LevelArrays& a : levels) {
    if (!a.pos.empty()) a.pos = as_dtype(a.pos, types.pos);
    if (a.crd.data) a.crd = as_dtype(a.crd, types.crd);
  }
  part.levels = std::move(levels);
  part.values = std::move(values);
  part.pos_strides.assign(part.levels.size(), 0);
  part.crd_strides.assign(part.levels.size(), 0);
  std::vector<Part> parts;
  parts.push_back(std::move(part));
  return make_from_parts(std::move(type), std::move(parts));
}

inline i64 extent(const Tensor& t, int dim) { return t.shape()[static_cast<std::size_t>(dim)]; }

/// The elements of CSR or CSC rows (unique, ordered) for a goal that lists the same dimensions as (outer, inner) of
/// `to`: calls f(pos, rows, stored, types, I{}) in the index type to build in, where all of that fits.
template <class F> void with_rows_like(const Tensor& t, const Goal& goal, const std::optional<DimPair>& to,
                                       const F& f) {
  const auto from = rows_of(t.format(), LevelKind::compressed);
  if (!from || !to || *from != *to || !t.format().level(1).unique || !t.format().level(1).ordered) return;
  with_indices(t.part().levels[1], [&]<class S>(const S* pos, const S*) {
    const i64 rows = extent(t, from->outer), stored = pos[rows];
    if (const auto types = index_types(goal, t.shape(), stored))
      with_index(types->widest(), [&]<class I>(I index) { f(pos, rows, stored, *types, index); });
  });
}

/// The coordinates of the last level and the values as they lie, without what is beyond use.
struct Shared {
  Buffer crd, values;
  Shared(const Tensor& t, i64 stored) : crd(t.part().levels[1].crd), values(t.part().values) {
    crd.size = values.size = stored;
  }
};

/// Division of coordinates by a constant of the format: one multiplication where extent * divisor stays below 2^63
/// (then the rounded reciprocal is exact), as 64-bit division takes some 20 cycles.
class Divider {
 public:
  Divider(i64 divisor, i64 extent) : divisor_(divisor) {
    const auto bound = checked_mul(divisor, extent);
    if (divisor > 1 && bound) reciprocal_ = ~std::uint64_t{0} / static_cast<std::uint64_t>(divisor) + 1;
  }
  i64 operator()(i64 x) const {
    if (reciprocal_)
      return static_cast<i64>(
          static_cast<std::uint64_t>((static_cast<Wide>(reciprocal_) * static_cast<std::uint64_t>(x)) >> 64));
    return divisor_ == 1 ? x : x / divisor_;
  }

 private:
  __extension__ using Wide = unsigned __int128;
  i64 divisor_;
  std::uint64_t reciprocal_ = 0;
};

/// Slices of work: at most `most`, each of some 16 K elements.
inline i64 slices(i64 work, i64 most) { return std::clamp<i64>(work / 16384, 1, most); }

/// First row at which pos reaches share c of `count` (equal stored elements per slice).
template <class S> i64 cut_rows(const S* pos, i64 rows, i64 c, i64 count) {
  if (c == 0) return 0;
  if (c == count) return rows;
  const i64 total = pos[rows];
  return std::lower_bound(pos, pos + rows, static_cast<S>(begin_of_share(total, c, count))) - pos;
}

/// Calls f(begin, end) for slices of rows with equal stored elements, in parallel.
template <class S, class F> void for_rows(const S* pos, i64 rows, const F& f) {
  const i64 n = rows > 0 ? slices(static_cast<i64>(pos[rows]) + rows, 64) : 1;
  if (n == 1) return f(i64{0}, rows);
  parallel_for(n, [&](i64 c) {
    const i64 begin = cut_rows(pos, rows, c, n), end = cut_rows(pos, rows, c + 1, n);
    if (begin < end) f(begin, end);
  });
}
/// The same for rows of equal cost.
template <class F> void for_even(i64 rows, i64 work, const F& f) {
  const i64 n = std::min(slices(work, 64), std::max<i64>(rows, 1));
  if (n == 1) return f(i64{0}, rows);
  parallel_for(n, [&](i64 c) { f(begin_of_share(rows, c, n), begin_of_share(rows, c + 1, n)); });
}

/// Rows [begin, end) in pieces of some 64 K stored elements, one after the other: calls f(first, last), and hears
/// Ctrl-C in between.
template <class S, class F> void rows_in_steps(const S* pos, i64 begin, i64 end, const F& f) {
  for (i64 at = begin; at < end;) {
    if (at > begin) poll_interrupt();
    const S* const next = std::upper_bound(pos + at + 1, pos + std::min(end, at + (i64{1} << 20)), pos[at],
                                           [](S from, S p) { return p - from > steps_between_polls; });
    const i64 last = next - pos;
    f(at, last);
    at = last;
  }
}

/// pos[0] = 0 and pos[i + 1] += pos[i]: counts become positions. Returns the total.
template <class I> i64 scan(I* pos, i64 n) {
  i64 total = 0;
  pos[0] = 0;
  for (i64 i = 1; i <= n; ++i) {
    total += static_cast<i64>(pos[i]);
    pos[i] = static_cast<I>(total);
  }
  return total;
}

/// Does leaving this tensor's format drop slots that hold the fill's bits?
inline bool drops_fill(const Tensor& t, const Goal& goal) {
  return goal.options.zeros == Zeros::automatic && t.format().can_hold_fill();
}
template <class W> W fill_bits(const Tensor& t) {
  W w{};
  std::memcpy(&w, t.fill().bits, sizeof(W));
  return w;
}

}  // namespace strata::fast
