// Rows of COO whose first level ascends: found by searching, not by looking at every element.
#include <algorithm>
#include <bit>
#include <vector>

#include "convert/take_rows.h"
#include "format/recognise.h"
#include "levels/index_view.h"
#include "tensor/source_changed.h"
#include "tensor/values.h"

namespace strata::slicing {
namespace {

i64 stored_of(const Part& part) {
  const i64 n = part.levels[0].pos.index(1);
  for (const LevelArrays& level : part.levels)
    if (n < 0 || n > level.crd.size) throw SourceChanged();
  return n;
}

/// The first element at or behind `row`.
template <class C> i64 find(const C* rows, i64 n, i64 row) {
  i64 begin = 0;
  while (n > 0) {
    const i64 half = n / 2;
    const bool before = static_cast<i64>(rows[begin + half]) < row;
    begin += before ? half + 1 : 0;
    n = before ? n - half - 1 : half;
  }
  return begin;
}

/// Where the listed rows begin, and how long they are.
struct FoundRows {
  std::vector<i64> begins, to;  ///< to: where each begins in the result; its length behind the last
};
template <class C> FoundRows find_rows(const C* rows, i64 n, i64 extent, std::span<const i64> wanted) {
  const auto count = static_cast<i64>(wanted.size());
  FoundRows out{.begins = std::vector<i64>(wanted.size()), .to = std::vector<i64>(wanted.size() + 1)};
  const auto set = [&](i64 k, i64 begin, i64 end) {
    out.begins[static_cast<std::size_t>(k)] = begin;
    out.to[static_cast<std::size_t>(k) + 1] = std::max<i64>(0, end - begin);
  };
  // A search reads as many places as the number of elements has bits, each a miss: one pass reads all in turn.
  if (const i64 steps = 2 * std::bit_width(static_cast<std::uint64_t>(n) | 1); count < (n + extent) / (4 * steps)) {
    each_row(count, [&](i64 k) {
      const i64 row = wanted[static_cast<std::size_t>(k)], begin = find(rows, n, row);
      set(k, begin, begin + find(rows + begin, n - begin, row + 1));
    });
  } else {
    std::vector<i64> starts(static_cast<std::size_t>(extent) + 1);
    i64 row = 0;
    for (i64 k = 0; k < n; ++k) {
      const auto c = static_cast<i64>(rows[k]);
      if (c < 0 || c >= extent) throw SourceChanged();
      for (; row <= c; ++row) starts[static_cast<std::size_t>(row)] = k;
    }
    for (; row <= extent; ++row) starts[static_cast<std::size_t>(row)] = n;
    each_row(count, [&](i64 k) {
      const auto r = static_cast<std::size_t>(wanted[static_cast<std::size_t>(k)]);
      set(k, starts[r], starts[r + 1]);
    });
  }
  for (std::size_t k = 0; k < wanted.size(); ++k) out.to[k + 1] += out.to[k];
  return out;
}

Buffer piece_of(const Buffer& b, i64 begin, i64 end) {
  Buffer out = b;
  out.data = static_cast<char*>(b.data) + begin * static_cast<i64>(size_of(b.dtype));
  out.size = end - begin;
  return out;
}

Buffer pos_of(DType dtype, i64 n) {
  const Buffer pos = Buffer::allocate(dtype, 2);
  pos.set_index(0, 0);
  pos.set_index(1, n);
  return pos;
}

}  // namespace

bool is_listed_along(const Tensor& t, std::size_t dim) {
  const Format& f = t.format();
  if (f.num_parts() != 1 || f.num_batch_levels() > 0 || f.num_levels() != f.rank() || f.num_levels() < 2 ||
      f.level(0).kind != LevelKind::compressed || f.level(0).unique || !f.level(0).ordered ||
      plain_dim(f, 0) != static_cast<int>(dim))
    return false;
  for (int l = 1; l < f.num_levels(); ++l)
    if (f.level(l).kind != LevelKind::singleton || plain_dim(f, l) < 0) return false;
  return std::ranges::all_of(t.part().levels, [](const LevelArrays& level) { return is_aligned(level.crd); });
}

Tensor listed_neighbours(const Tensor& t, std::size_t dim, i64 begin, i64 count) {
  TensorType type = t.type();
  type.shape[dim] = count;
  Part part = t.part();
  part.ranges = type.format.level_ranges(type.shape);
  const i64 n = stored_of(part);
  with_index_type(part.levels[0].crd.dtype, [&]<class C>(C) {
    const C* const rows = static_cast<const C*>(part.levels[0].crd.data);
    const i64 first = find(rows, n, begin), last = first + find(rows + first, n - first, begin + count);
    const Buffer moved = Buffer::allocate(part.levels[0].crd.dtype, last - first);
    for (i64 k = first; k < last; ++k) {
      const i64 row = static_cast<i64>(rows[k]) - begin;
      if (row < 0 || row >= count) throw SourceChanged();
      static_cast<C*>(moved.data)[k - first] = static_cast<C>(row);
    }
    for (LevelArrays& level : part.levels) level.crd = piece_of(level.crd, first, last);
    part.levels[0].crd = moved;
    part.levels[0].pos = pos_of(part.levels[0].pos.dtype, last - first);
    if (part.value_stride != 0)
      part.values = piece_of(part.values, first * part.value_stride, last * part.value_stride);
  });
  return make_from_parts(std::move(type), {std::move(part)});
}

Tensor take_listed(const Tensor& t, std::size_t dim, std::span<const i64> coordinates) {
  TensorType type = t.type();
  const i64 extent = type.shape[dim], count = static_cast<i64>(coordinates.size());
  type.shape[dim] = count;
  const Part& from = t.part();
  Part part = from;
  part.ranges = type.format.level_ranges(type.shape);
  const i64 n = stored_of(from);
  const DType row_dtype = from.levels[0].crd.dtype;
  const FoundRows found = with_index_type(row_dtype, [&]<class C>(C) {
    return find_rows(static_cast<const C*>(from.levels[0].crd.data), n, extent, coordinates);
  });
  const i64 stored = found.to.back();
  // f(to, from, n) for each row.
  const auto each = [&](const auto& f) {
    each_row(count, [&](i64 k) {
      const i64 to = found.to[static_cast<std::size_t>(k)], length = found.to[static_cast<std::size_t>(k) + 1] - to;
      f(k, to, found.begins[static_cast<std::size_t>(k)], length);
    });
  };
  for (std::size_t l = 0; l < part.levels.size(); ++l) {
    Buffer& crd = part.levels[l].crd;
    crd = Buffer::allocate(crd.dtype, stored);
    with_index_type(crd.dtype, [&]<class C>(C) {
      C* const out = static_cast<C*>(crd.data);
      const C* const in = static_cast<const C*>(from.levels[l].crd.data);
      if (l == 0) each([&](i64 k, i64 to, i64, i64 length) { std::fill_n(out + to, length, static_cast<C>(k)); });
      else each([&](i64, i64 to, i64 at, i64 length) { std::copy_n(in + at, length, out + to); });
    });
  }
  if (part.value_stride != 0) {
    part.values = Buffer::allocate(type.dtype, stored);
    const i64 stride = part.value_stride;
    with_width(size_of(type.dtype), [&]<class T>(T) {
      char* const out = static_cast<char*>(part.values.data);
      const char* const in = static_cast<const char*>(from.values.data);
      constexpr auto width = static_cast<i64>(sizeof(T));
      each([&](i64, i64 to, i64 at, i64 length) {
        for (i64 e = 0; e < length; ++e) std::memcpy(out + (to + e) * width, in + (at + e) * stride * width, sizeof(T));
      });
    });
    part.value_stride = 1;
  }
  if (!holds(type.pos_dtype, stored)) type.pos_dtype = holds(DType::i32, stored) ? DType::i32 : DType::i64;
  part.levels[0].pos = pos_of(type.pos_dtype, stored);
  return make_from_parts(std::move(type), {std::move(part)});
}

}  // namespace strata::slicing
