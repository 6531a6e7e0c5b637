#pragma once
// What the shortcuts share: choosing C++ types, cutting rows, assembling the result.
#include <algorithm>
#include <complex>
#include <cstring>
#include <vector>

#include "backend/own_memory.h"
#include "backend/pod_array.h"
#include "backend/steps.h"
#include "base/checked.h"
#include "base/share.h"
#include "convert/fast/fast.h"
#include "format/recognise.h"
#include "strata/settings.h"
#include "tensor/source_changed.h"
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

/// An index array for paths that read it more than once: another's memory is copied, as he may write to it meanwhile.
template <class S> class Steady {
 public:
  explicit Steady(const Buffer& b) : Steady(b, b.size, [](const S*, i64) {}) {}
  /// The first entries, of which each must lie in [0, extent).
  Steady(const Buffer& b, i64 size, i64 extent)
      : Steady(b, size, [extent](const S* entries, i64 n) {
          bool outside = false;
          for (i64 k = 0; k < n; ++k)
            outside |= static_cast<std::uint64_t>(entries[k]) >= static_cast<std::uint64_t>(extent);
          if (outside) throw SourceChanged();
        }) {}
  const S* data() const { return data_; }
  bool copied() const { return own_.size() > 0; }

 private:
  template <class Check>
  Steady(const Buffer& b, i64 size, const Check& check) : data_(static_cast<const S*>(b.data)) {
    if (is_own(b) || size == 0) return;
    own_.resize(static_cast<std::size_t>(size));
    constexpr i64 chunk = i64{1} << 16;
    parallel_for(ceil_div(size, chunk), [&](i64 c) {
      const i64 begin = c * chunk, n = std::min(chunk, size - begin);
      std::memcpy(own_.data() + begin, data_ + begin, static_cast<std::size_t>(n) * sizeof(S));
      check(own_.data() + begin, n);
    });
    data_ = own_.data();
  }

  const S* data_;
  PodArray<S> own_;
};

/// pos as a path may follow it: ascending, and no further than the coordinates.
template <class S> Steady<S> steady_pos(const LevelArrays& a) {
  Steady<S> pos(a.pos);
  if (!pos.copied()) return pos;
  bool ascends = pos.data()[0] >= 0 && static_cast<i64>(pos.data()[a.pos.size - 1]) <= a.crd.size;
  for (i64 k = 1; k < a.pos.size; ++k) ascends &= pos.data()[k - 1] <= pos.data()[k];
  if (!ascends) throw SourceChanged();
  return pos;
}

/// Slices of work: at most `most`, each of some 16 K elements.
inline i64 slices(i64 work, i64 most) { return std::clamp<i64>(work / 16384, 1, most); }

/// i32/i32 or i64/i64 arrays of a level: calls f(pos, crd) and returns true; false for other index types. Coordinates
/// may change while f reads them.
template <class F> bool with_indices(const LevelArrays& a, const F& f) {
  const auto call = [&]<class S>(S) {
    const Steady<S> pos = steady_pos<S>(a);
    f(pos.data(), static_cast<const S*>(a.crd.data));
    return true;
  };
  if (a.pos.dtype == DType::i32 && a.crd.dtype == DType::i32 && aligned<i32>(a.pos) && aligned<i32>(a.crd))
    return call(i32{});
  if (a.pos.dtype == DType::i64 && a.crd.dtype == DType::i64 && aligned<i64>(a.pos) && aligned<i64>(a.crd))
    return call(i64{});
  return false;
}

/// The same for an f that counts by coordinates in [0, extent), and then fills by them: they stay as the level says
/// that they are.
template <class F> bool with_steady_indices(const Tensor& t, int l, i64 extent, const F& f) {
  const LevelArrays& a = t.part().levels[static_cast<std::size_t>(l)];
  const Level& level = t.format().level(l);
  return with_indices(a, [&]<class S>(const S* pos, const S*) {
    const i64 rows = a.pos.size - 1;
    const Steady<S> crd(a.crd, pos[rows], extent);
    if (crd.copied() && level.ordered) {
      const auto wrong = [&](i64 k) {
        return level.unique ? crd.data()[k] <= crd.data()[k - 1] : crd.data()[k] < crd.data()[k - 1];
      };
      const i64 parts = std::min(rows, slices(pos[rows], 64));
      parallel_for(parts, [&](i64 c) {
        bool bad = false;
        for (i64 i = begin_of_share(rows, c, parts); i < begin_of_share(rows, c + 1, parts); ++i)
          for (i64 k = static_cast<i64>(pos[i]) + 1; k < static_cast<i64>(pos[i + 1]); ++k) bad |= wrong(k);
        if (bad) throw SourceChanged();
      });
    }
    f(pos, crd.data());
  });
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

/// Does leaving this tensor's format drop slots that hold no more than the fill?
inline bool drops_fill(const Tensor& t, const Goal& goal) {
  return goal.options.zeros != Zeros::keep && t.format().can_hold_fill();
}
template <class W> IsFill<W> fill_test(const Tensor& t, const Goal& goal) {
  return IsFill<W>(t.fill(), goal.options.zeros == Zeros::exact);
}
template <class W> W fill_bits(const Tensor& t) {
  W w{};
  std::memcpy(&w, t.fill().bits, sizeof(W));
  return w;
}

}  // namespace strata::fast
