// CSR <-> BSR.
#include "ops/fast/support.h"

namespace strata::fast {

namespace {

/// Offset of element (r, c) in a block.
i64 in_block(const BlockedRows& b, i64 r, i64 c) { return b.column_major ? c * b.rows + r : r * b.columns + c; }

/// The distinct block columns of block row i, ascending. `seen[bj] == i` marks those that are listed.
template <class S>
void block_columns(const S* pos, const S* crd, const BlockedRows& b, i64 rows, i64 i, std::vector<i64>& seen, std::vector<i64>& list) {
  list.clear();
  const i64 last = std::min(rows, (i + 1) * b.rows);
  for (i64 k = pos[i * b.rows]; k < static_cast<i64>(pos[last]); ++k) {
    const i64 bj = static_cast<i64>(crd[k]) / b.columns;
    if (seen[static_cast<std::size_t>(bj)] != i) {
      seen[static_cast<std::size_t>(bj)] = i;
      list.push_back(bj);
    }
  }
  std::sort(list.begin(), list.end());
}

}  // namespace

std::optional<Tensor> rows_to_blocks(const Tensor& t, const Goal& goal) {
  const auto from = rows_of(t.format(), LevelKind::compressed);
  const auto to = blocked_rows_of(goal.format);
  if (!from || !to || to->dims != *from || !t.format().level(1).unique || !t.fill().same_bits(Scalar::zero(t.dtype()))) return {};
  const BlockedRows b = *to;
  std::optional<Tensor> result;
  with_indices(t.part().levels[1], [&]<class S>(const S* pos, const S* crd) {
    const i64 rows = extent(t, from->outer), columns = extent(t, from->inner), stored = pos[rows];
    const i64 block_rows = (rows + b.rows - 1) / b.rows, block_cols = (columns + b.columns - 1) / b.columns;
    const auto types = index_types(goal, t.shape(), stored);
    // A marker per block column and slice is worth it only where there are elements to mark.
    if (!types || block_cols / 8 > stored + 1024) return;
    with_index(types->widest(), [&]<class I>(I) {
      Buffer out_pos = Buffer::zeros(dtype_of<I>(), block_rows + 1);
      I* bp = static_cast<I*>(out_pos.data);
      const i64 parts = std::min<i64>(slices(stored, 8), thread_count());
      const auto each = [&](const auto& f) {
        parallel_for(parts, [&](i64 c) {
          std::vector<i64> seen(static_cast<std::size_t>(block_cols), -1), list;
          for (i64 i = block_rows * c / parts; i < block_rows * (c + 1) / parts; ++i) {
            block_columns(pos, crd, b, rows, i, seen, list);
            f(i, seen, list);
          }
        });
      };
      each([&](i64 i, std::vector<i64>&, const std::vector<i64>& list) { bp[i + 1] = static_cast<I>(list.size()); });
      const i64 blocks = scan(bp, block_rows), area = b.rows * b.columns;
      Buffer out_crd = Buffer::allocate(dtype_of<I>(), blocks), values = Buffer::zeros(t.dtype(), blocks * area);
      I* bc = static_cast<I*>(out_crd.data);
      with_width(t.dtype(), [&]<class W>(W) {
        const W* v = static_cast<const W*>(t.part().values.data);
        W* bv = static_cast<W*>(values.data);
        each([&](i64 i, std::vector<i64>& seen, const std::vector<i64>& list) {
          i64 q = bp[i];
          for (i64 bj : list) {
            bc[q] = static_cast<I>(bj);
            seen[static_cast<std::size_t>(bj)] = q++;  // from here on: where the block is
          }
          for (i64 r = i * b.rows; r < std::min(rows, (i + 1) * b.rows); ++r)
            for (i64 k = pos[r]; k < static_cast<i64>(pos[r + 1]); ++k) {
              const i64 j = crd[k], bj = j / b.columns;
              bv[seen[static_cast<std::size_t>(bj)] * area + in_block(b, r - i * b.rows, j - bj * b.columns)] = v[k];
            }
          for (i64 bj : list) seen[static_cast<std::size_t>(bj)] = -1;
        });
      });
      result = assemble(t, goal, *types, {{}, {out_pos, out_crd}, {}, {}}, values);
    });
  });
  return result;
}

std::optional<Tensor> blocks_to_rows(const Tensor& t, const Goal& goal) {
  const auto from = blocked_rows_of(t.format());
  const auto to = rows_of(goal.format, LevelKind::compressed);
  if (!from || !to || from->dims != *to || !t.format().level(1).unique || !t.format().level(1).ordered) return {};
  const BlockedRows b = *from;
  const bool drop = drops_fill(t, goal);
  std::optional<Tensor> result;
  with_indices(t.part().levels[1], [&]<class S>(const S* pos, const S* crd) {
    const i64 rows = extent(t, to->outer), columns = extent(t, to->inner), block_rows = (rows + b.rows - 1) / b.rows;
    const i64 slots = static_cast<i64>(pos[block_rows]) * b.rows * b.columns;
    const auto types = index_types(goal, t.shape(), slots);
    if (!types) return;
    with_index(types->widest(), [&]<class I>(I) {
      with_width(t.dtype(), [&]<class W>(W) {
        const W* v = static_cast<const W*>(t.part().values.data);
        const W fill = fill_bits<W>(t);
        Buffer out_pos = Buffer::zeros(dtype_of<I>(), rows + 1);
        I* op = static_cast<I*>(out_pos.data);
        // Calls f(column, value) for what is kept of a row.
        const auto row = [&](i64 i, const auto& f) {
          const i64 bi = i / b.rows, r = i - bi * b.rows;
          for (i64 k = pos[bi]; k < static_cast<i64>(pos[bi + 1]); ++k) {
            const i64 j0 = static_cast<i64>(crd[k]) * b.columns, width = std::min(b.columns, columns - j0);
            for (i64 c = 0; c < width; ++c) {
              const W w = v[k * b.rows * b.columns + in_block(b, r, c)];
              if (!drop || !(w == fill)) f(j0 + c, w);
            }
          }
        };
        for_even(rows, slots, [&](i64 begin, i64 end) {
          for (i64 i = begin; i < end; ++i) {
            i64 n = 0;
            row(i, [&](i64, W) { ++n; });
            op[i + 1] = static_cast<I>(n);
          }
        });
        const i64 nse = scan(op, rows);
        Buffer out_crd = Buffer::allocate(dtype_of<I>(), nse), values = Buffer::allocate(t.dtype(), nse);
        I* oc = static_cast<I*>(out_crd.data);
        W* ov = static_cast<W*>(values.data);
        for_even(rows, slots, [&](i64 begin, i64 end) {
          for (i64 i = begin; i < end; ++i) {
            i64 q = op[i];
            row(i, [&](i64 j, W w) {
              oc[q] = static_cast<I>(j);
              ov[q++] = w;
            });
          }
        });
        result = assemble(t, goal, *types, {{}, {out_pos, out_crd}}, values);
      });
    });
  });
  return result;
}

}  // namespace strata::fast
