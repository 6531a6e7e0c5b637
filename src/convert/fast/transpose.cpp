// CSR <-> CSC: a stable counting sort by the inner coordinate.
#include "convert/fast/buckets.h"

namespace strata::fast {
namespace {

/// Rows first .. last into the slots that `next` has for their columns. `far`: see support.h.
template <bool far, class I, class S, class W>
void scatter(i64 first, i64 last, i64 stored, const S* pos, const S* __restrict crd, const W* __restrict v,
             I* __restrict next, I* __restrict to_crd, W* __restrict to_values) {
  for (i64 i = first, k = pos[i]; i < last; ++i)
    for (const i64 end = pos[i + 1]; k < end; ++k) {
      if constexpr (far) {
        const I later = next[crd[std::min(k + early, stored - 1)]];
        __builtin_prefetch(to_crd + later, 1);
        __builtin_prefetch(to_values + later, 1);
      }
      const I q = next[crd[k]]++;
      to_crd[q] = static_cast<I>(i);
      to_values[q] = v[k];
    }
}

/// The result's arrays from those of rows: one histogram per slice of rows, and each element to where its column
/// stands.
template <class I, class S, class W>
void scatter_rows(i64 rows, i64 columns, i64 parts, const S* pos, const S* crd, const W* v, I* to_pos, I* to_crd,
                  W* to_values) {
  const i64 stored = pos[rows];
  Buffer counts = Buffer::zeros(dtype_of<I>(), parts * columns);
  I* next = static_cast<I*>(counts.data);
  parallel_for(parts, [&](i64 c) {
    I* __restrict h = next + c * columns;
    const i64 last = pos[cut_rows(pos, rows, c + 1, parts)];
    in_steps(pos[cut_rows(pos, rows, c, parts)], last, [&](i64 first, i64 stop) {
      for (i64 k = first; k < stop; ++k) ++h[crd[k]];
    });
  });
  i64 total = 0;
  for (i64 j = 0; j < columns; ++j) {
    to_pos[j] = static_cast<I>(total);
    for (i64 c = 0; c < parts; ++c) {
      const I n = next[c * columns + j];
      next[c * columns + j] = static_cast<I>(total);
      total += n;
    }
  }
  to_pos[columns] = static_cast<I>(total);
  const auto go =
      stored * static_cast<i64>(sizeof(I) + sizeof(W)) > cached ? scatter<true, I, S, W> : scatter<false, I, S, W>;
  parallel_for(parts, [&](i64 c) {
    rows_in_steps(pos, cut_rows(pos, rows, c, parts), cut_rows(pos, rows, c + 1, parts), [&](i64 first, i64 last) {
      go(first, last, stored, pos, crd, v, next + c * columns, to_crd, to_values);
    });
  });
}

/// The same by way of buckets of columns.
template <class I, class S, class W>
void scatter_in_buckets(i64 rows, i64 columns, i64 parts, const S* pos, const S* crd, const W* v, I* to_pos, I* to_crd,
                        W* to_values) {
  struct Triplet {
    I row, column;
    W value;
  };
  const auto buckets = into_buckets<Triplet>(columns, pos[rows], parts, [&](i64 c, const auto& f) {
    rows_in_steps(pos, cut_rows(pos, rows, c, parts), cut_rows(pos, rows, c + 1, parts), [&](i64 first, i64 last) {
      for (i64 i = first; i < last; ++i)
        for (i64 k = pos[i]; k < static_cast<i64>(pos[i + 1]); ++k)
          f(crd[k], [&] { return Triplet{static_cast<I>(i), static_cast<I>(crd[k]), v[k]}; });
    });
  });
  parallel_for(buckets.size(), [&](i64 b) {
    const i64 base = b << buckets.shift, width = std::min(columns - base, i64{1} << buckets.shift);
    std::vector<I> next(static_cast<std::size_t>(width));
    for (const Triplet& e : buckets[b]) ++next[static_cast<std::size_t>(e.column - base)];
    I total = static_cast<I>(buckets.start(b));
    for (i64 j = 0; j < width; ++j)
      to_pos[base + j] = total, total += std::exchange(next[static_cast<std::size_t>(j)], total);
    for (const Triplet& e : buckets[b]) {
      const I q = next[static_cast<std::size_t>(e.column - base)]++;
      to_crd[q] = e.row;
      to_values[q] = e.value;
    }
  });
  to_pos[columns] = static_cast<I>(pos[rows]);
}

}  // namespace

std::optional<Tensor> transpose_rows(const Tensor& t, const Goal& goal) {
  const auto from = rows_of(t.format(), LevelKind::compressed), to = rows_of(goal.format, LevelKind::compressed);
  if (!from || !to || from->outer != to->inner || !t.format().level(1).unique) return {};
  std::optional<Tensor> result;
  with_steady_indices(t, 1, extent(t, from->inner), [&]<class S>(const S* pos, const S* crd) {
    const i64 rows = extent(t, from->outer), columns = extent(t, from->inner), stored = pos[rows];
    const auto types = index_types(goal, t.shape(), stored);
    if (!types) return;
    // Few slices, for histograms cost as much memory as a row of the result each.
    const i64 parts = std::min<i64>(slices(stored, 8), thread_count());
    with_index(types->widest(), [&]<class I>(I) {
      Buffer out_pos = Buffer::zeros(dtype_of<I>(), columns + 1), out_crd = Buffer::allocate(dtype_of<I>(), stored);
      Buffer out_values = Buffer::allocate(t.dtype(), stored);
      with_width(t.dtype(), [&]<class W>(W) {
        const auto go = pays_in_buckets(columns, crd, stored) ? scatter_in_buckets<I, S, W> : scatter_rows<I, S, W>;
        go(rows, columns, parts, pos, crd, static_cast<const W*>(t.part().values.data), static_cast<I*>(out_pos.data),
           static_cast<I*>(out_crd.data), static_cast<W*>(out_values.data));
      });
      result = assemble(t, goal, *types, {{}, {out_pos, out_crd}}, out_values);
    });
  });
  return result;
}

}  // namespace strata::fast
