// CSR <-> BSR.
#include <atomic>

#include "base/share.h"
#include "convert/fast/support.h"

namespace strata::fast {

namespace {

/// Ascending, in place: lists of a few entries are the rule.
void sort_columns(std::vector<i64>& list) {
  if (list.size() > 32) return std::sort(list.begin(), list.end());
  for (std::size_t s = 1; s < list.size(); ++s) {
    const i64 x = list[s];
    std::size_t u = s;
    for (; u > 0 && list[u - 1] > x; --u) list[u] = list[u - 1];
    list[u] = x;
  }
}

constexpr i64 merged_rows = 8;  ///< blocks of up to so many rows are made by merging their rows

/// Sorted rows first .. first + height - 1, merged: calls block(bj) for every block column that occurs, ascending, and
/// then element(row in the block, column in the block, position) for what lies in it.
template <class S, class B, class E>
void merge_rows(const S* pos, const S* crd, i64 first, i64 height, i64 width, const Divider& by_columns, const B& block,
                const E& element) {
  i64 at[merged_rows], end[merged_rows], column[merged_rows];
  constexpr i64 none = INT64_MAX;
  for (i64 r = 0; r < height; ++r) {
    at[r] = pos[first + r], end[r] = pos[first + r + 1];
    column[r] = at[r] < end[r] ? static_cast<i64>(crd[at[r]]) : none;
  }
  for (;;) {
    i64 least = none;
    for (i64 r = 0; r < height; ++r) least = std::min(least, column[r]);
    if (least == none) return;
    const i64 bj = by_columns(least), begin = bj * width;
    block(bj);
    for (i64 r = 0; r < height; ++r)
      while (column[r] - begin < width) {
        element(r, column[r] - begin, at[r]);
        column[r] = ++at[r] < end[r] ? static_cast<i64>(crd[at[r]]) : none;
      }
  }
}

/// Low blocks of sorted rows: counted, then filled, each in one walk; a block is cleared when it is begun.
template <class S, class I>
Tensor merge_blocks(const Tensor& t, const Goal& goal, IndexTypes types, const BlockedRows& b, const S* pos,
                    const S* crd, i64 rows, i64 columns) {
  const i64 block_rows = ceil_div(rows, b.rows), area = b.rows * b.columns;
  const Divider by_columns(b.columns, columns);
  Buffer out_pos = Buffer::zeros(dtype_of<I>(), block_rows + 1);
  I* const bp = static_cast<I*>(out_pos.data);
  const auto height = [&](i64 i) { return std::min(b.rows, rows - i * b.rows); };
  const auto each = [&](const auto& f) {
    for_even(block_rows, pos[rows], [&](i64 begin, i64 end) {
      for (i64 i = begin; i < end; ++i) f(i);
    });
  };
  each([&](i64 i) {
    i64 n = 0;
    merge_rows(pos, crd, i * b.rows, height(i), b.columns, by_columns, [&](i64) { ++n; }, [](i64, i64, i64) {});
    bp[i + 1] = static_cast<I>(n);
  });
  const i64 blocks = scan(bp, block_rows);
  Buffer out_crd = Buffer::allocate(dtype_of<I>(), blocks), values = Buffer::allocate(t.dtype(), blocks * area);
  I* const bc = static_cast<I*>(out_crd.data);
  with_width(t.dtype(), [&]<class W>(W) {
    const W* const v = static_cast<const W*>(t.part().values.data);
    W* const bv = static_cast<W*>(values.data);
    const i64 down = b.column_major ? 1 : b.columns, along = b.column_major ? b.rows : 1;
    each([&](i64 i) {
      i64 q = bp[i];
      W* block = nullptr;
      merge_rows(
          pos, crd, i * b.rows, height(i), b.columns, by_columns,
          [&](i64 bj) {
            bc[q] = static_cast<I>(bj);
            block = bv + q++ * area;
            std::fill(block, block + area, W{});
          },
          [&](i64 r, i64 c, i64 k) { block[r * down + c * along] = v[k]; });
    });
  });
  return assemble(t, goal, types, {{}, {out_pos, out_crd}, {}, {}}, values);
}

}  // namespace

std::optional<Tensor> rows_to_blocks(const Tensor& t, const Goal& goal) {
  const auto from = rows_of(t.format(), LevelKind::compressed);
  const auto to = blocked_rows_of(goal.format);
  if (!from || !to || to->dims != *from || !t.format().level(1).unique || !t.fill().same_bits(Scalar::zero(t.dtype())))
    return {};
  const BlockedRows b = *to;
  std::optional<Tensor> result;
  with_steady_indices(t, 1, extent(t, from->inner), [&]<class S>(const S* pos, const S* crd) {
    const i64 rows = extent(t, from->outer), columns = extent(t, from->inner), stored = pos[rows];
    const i64 block_rows = (rows + b.rows - 1) / b.rows, block_cols = (columns + b.columns - 1) / b.columns;
    const auto types = index_types(goal, t.shape(), stored);
    // A marker per block column and slice is worth it only where there are elements to mark.
    if (!types || block_cols / 8 > stored + 1024) return;
    with_index(types->widest(), [&]<class I>(I) {
      if (b.rows <= merged_rows && t.format().level(1).ordered) {
        result = merge_blocks<S, I>(t, goal, *types, b, pos, crd, rows, columns);
        return;
      }
      Buffer out_pos = Buffer::zeros(dtype_of<I>(), block_rows + 1);
      I* bp = static_cast<I*>(out_pos.data);
      const i64 parts = std::min<i64>(slices(stored, 8), thread_count());
      const Divider by_columns(b.columns, columns);
      // Markers ascend from block row to block row, so that nothing need be cleared between them.
      const auto each = [&](const auto& f) {
        parallel_for(parts, [&](i64 c) {
          std::vector<i64> seen(static_cast<std::size_t>(block_cols), -1);
          f(begin_of_share(block_rows, c, parts), begin_of_share(block_rows, c + 1, parts), seen.data());
        });
      };
      each([&](i64 first, i64 last, i64* seen) {
        for (i64 i = first; i < last; ++i) {
          poll_at(i + 1);
          I n = 0;
          const i64 end = pos[std::min(rows, (i + 1) * b.rows)];
          for (i64 k = pos[i * b.rows]; k < end; ++k) {
            const i64 bj = by_columns(static_cast<i64>(crd[k]));
            n += seen[bj] != i;
            seen[bj] = i;
          }
          bp[i + 1] = n;
        }
      });
      const i64 blocks = scan(bp, block_rows), area = b.rows * b.columns;
      Buffer out_crd = Buffer::allocate(dtype_of<I>(), blocks), values = Buffer::zeros(t.dtype(), blocks * area);
      I* bc = static_cast<I*>(out_crd.data);
      with_width(t.dtype(), [&]<class W>(W) {
        const W* v = static_cast<const W*>(t.part().values.data);
        W* bv = static_cast<W*>(values.data);
        const i64 down = b.column_major ? 1 : b.columns, along = b.column_major ? b.rows : 1;
        each([&](i64 first, i64 last, i64* where) {  // where[bj]: the block's number, if it is one of this block row
          std::vector<i64> list;
          for (i64 i = first; i < last; ++i) {
            poll_at(i + 1);
            list.clear();
            const i64 begin = bp[i], stop = std::min(rows, (i + 1) * b.rows), end = pos[stop];
            for (i64 k = pos[i * b.rows]; k < end; ++k) {
              const i64 bj = by_columns(static_cast<i64>(crd[k]));
              if (where[bj] >= begin) continue;
              where[bj] = begin;
              list.push_back(bj);
            }
            sort_columns(list);
            i64 q = begin;
            for (i64 bj : list) {
              bc[q] = static_cast<I>(bj);
              where[bj] = q++;
            }
            for (i64 r = i * b.rows; r < stop; ++r) {
              W* const row = bv + (r - i * b.rows) * down;
              for (i64 k = pos[r], e = pos[r + 1]; k < e; ++k) {
                const i64 j = crd[k], bj = by_columns(j);
                row[where[bj] * area + (j - bj * b.columns) * along] = v[k];
              }
            }
          }
        });
      });
      result = assemble(t, goal, *types, {{}, {out_pos, out_crd}, {}, {}}, values);
    });
  });
  return result;
}

/// Is none of some values, taken from all over, the fill?
template <class W> bool no_fill(const W* v, i64 n, const IsFill<W>& is_fill) {
  constexpr i64 samples = 64, each = 64;
  for (i64 s = 0; s < samples; ++s)
    for (i64 k = n * s / samples, end = std::min(n, k + each); k < end; ++k)
      if (is_fill(v[k])) return false;
  return true;
}

/// Blocks without fill as rows, in one walk over them. False where a slot holds the fill: what was written then means
/// nothing.
template <class S, class I, class W>
bool copy_whole_blocks(const BlockedRows& b, const S* pos, const S* crd, i64 rows, const W* v, const IsFill<W>& is_fill,
                       bool drop, I* op, I* oc, W* ov) {
  const i64 area = b.rows * b.columns, down = b.column_major ? 1 : b.columns, along = b.column_major ? b.rows : 1;
  std::atomic<bool> whole{true};
  for_even(rows / b.rows, static_cast<i64>(pos[rows / b.rows]) * area, [&](i64 begin, i64 end) {
    for (i64 bi = begin; bi < end && whole.load(std::memory_order_relaxed); ++bi) {
      const i64 first = pos[bi], blocks = static_cast<i64>(pos[bi + 1]) - first;
      bool found = false;
      for (i64 r = 0; r < b.rows; ++r) {
        i64 q = first * area + r * blocks * b.columns;
        op[bi * b.rows + r + 1] = static_cast<I>(q + blocks * b.columns);
        const W* w = v + first * area + r * down;
        for (i64 k = 0; k < blocks; ++k, w += area) {
          const i64 j0 = static_cast<i64>(crd[first + k]) * b.columns;
          for (i64 c = 0; c < b.columns; ++c, ++q) {
            oc[q] = static_cast<I>(j0 + c);
            ov[q] = w[c * along];
            found |= is_fill(w[c * along]);
          }
        }
      }
      if (drop && found) whole.store(false, std::memory_order_relaxed);
    }
  });
  return whole;
}

std::optional<Tensor> blocks_to_rows(const Tensor& t, const Goal& goal) {
  const auto from = blocked_rows_of(t.format());
  const auto to = rows_of(goal.format, LevelKind::compressed);
  if (!from || !to || from->dims != *to || !t.format().level(1).unique || !t.format().level(1).ordered) return {};
  const BlockedRows b = *from;
  const bool drop = drops_fill(t, goal);
  std::optional<Tensor> result;
  const i64 across = ceil_div(extent(t, to->inner), b.columns);
  with_steady_indices(t, 1, across, [&]<class S>(const S* pos, const S* crd) {
    const i64 rows = extent(t, to->outer), columns = extent(t, to->inner), block_rows = (rows + b.rows - 1) / b.rows;
    const i64 slots = static_cast<i64>(pos[block_rows]) * b.rows * b.columns;
    if (slots > t.part().values.size) throw SourceChanged();
    const auto types = index_types(goal, t.shape(), slots);
    if (!types) return;
    with_index(types->widest(), [&]<class I>(I) {
      with_width(t.dtype(), [&]<class W>(W) {
        const W* v = static_cast<const W*>(t.part().values.data);
        const IsFill<W> is_fill = fill_test<W>(t, goal);
        Buffer out_pos = Buffer::zeros(dtype_of<I>(), rows + 1);
        I* op = static_cast<I*>(out_pos.data);
        // Blocks are mostly full where they are worth having: a few of them tell whether it pays to take all for it.
        const bool fits = rows % b.rows == 0 && columns % b.columns == 0;
        if (fits && slots > 0 && (!drop || no_fill(v, slots, is_fill))) {
          Buffer all_crd = Buffer::allocate(dtype_of<I>(), slots), all_values = Buffer::allocate(t.dtype(), slots);
          if (copy_whole_blocks(b, pos, crd, rows, v, is_fill, drop, op, static_cast<I*>(all_crd.data),
                                static_cast<W*>(all_values.data))) {
            result = assemble(t, goal, *types, {{}, {out_pos, all_crd}}, all_values);
            return;
          }
        }
        const i64 area = b.rows * b.columns, down = b.column_major ? 1 : b.columns, along = b.column_major ? b.rows : 1;
        // Calls f(first column, columns, address) for the stretches of a row, by block rows: no division by element.
        const auto stretches = [&](i64 bi, i64 r, const auto& f) {
          for (i64 k = pos[bi], end = pos[bi + 1]; k < end; ++k) {
            const i64 j0 = static_cast<i64>(crd[k]) * b.columns;
            f(j0, std::min(b.columns, columns - j0), v + k * area + r * down);
          }
        };
        const auto each = [&](const auto& f) {  // f(row, block row, row in it)
          for_even(block_rows, slots, [&](i64 begin, i64 end) {
            for (i64 bi = begin; bi < end; ++bi)
              for (i64 r = 0; r < b.rows && bi * b.rows + r < rows; ++r) f(bi * b.rows + r, bi, r);
          });
        };
        each([&](i64 i, i64 bi, i64 r) {
          i64 n = 0;
          stretches(bi, r, [&](i64, i64 width, const W* w) {
            if (!drop) n += width;
            else
              for (i64 c = 0; c < width; ++c) n += !is_fill(w[c * along]);
          });
          op[i + 1] = static_cast<I>(n);
        });
        const i64 nse = scan(op, rows);
        Buffer out_crd = Buffer::allocate(dtype_of<I>(), nse), values = Buffer::allocate(t.dtype(), nse);
        I* oc = static_cast<I*>(out_crd.data);
        W* ov = static_cast<W*>(values.data);
        each([&](i64 i, i64 bi, i64 r) {
          i64 q = op[i];
          const i64 stop = op[i + 1];  // what lies behind may be another thread's
          stretches(bi, r, [&](i64 j0, i64 width, const W* w) {
            for (i64 c = 0; c < width && q < stop; ++c) {
              const W x = w[c * along];
              oc[q] = static_cast<I>(j0 + c);
              ov[q] = x;
              q += !drop || !is_fill(x);
            }
          });
          if (q != stop) throw SourceChanged();
        });
        result = assemble(t, goal, *types, {{}, {out_pos, out_crd}}, values);
      });
    });
  });
  return result;
}

}  // namespace strata::fast
