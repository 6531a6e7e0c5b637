// CSR <-> DIA.
#include <algorithm>
#include <atomic>
#include <functional>

#include "base/checked.h"
#include "convert/fast/support.h"

namespace strata::fast {

std::optional<Tensor> rows_to_diagonals(const Tensor& t, const Goal& goal) {
  const auto from = rows_of(t.format(), LevelKind::compressed);
  const int range = diagonals_of(goal.format);
  if (!from || from->outer != 0 || range < 0 || !t.format().level(1).unique ||
      !t.fill().same_bits(Scalar::zero(t.dtype())))
    return {};
  std::optional<Tensor> result;
  with_steady_indices(t, 1, extent(t, 1), [&]<class S>(const S* pos, const S* crd) {
    const i64 rows = extent(t, 0), columns = extent(t, 1), stored = pos[rows], width = range == 0 ? rows : columns;
    // A flag per diagonal is worth it only where there are elements to mark.
    if ((rows + columns) / 8 > stored + 1024) return;
    std::vector<i64> index(static_cast<std::size_t>(rows + columns), -1);  // by j - i + rows
    for_rows(pos, rows, [&](i64 begin, i64 end) {
      for (i64 i = begin; i < end; ++i)
        for (i64 k = pos[i]; k < static_cast<i64>(pos[i + 1]); ++k) {
          std::atomic_ref<i64> flag(index[static_cast<std::size_t>(crd[k] - i + rows)]);
          if (flag.load(std::memory_order_relaxed) < 0) flag.store(0, std::memory_order_relaxed);
        }
    });
    i64 diagonals = 0;
    for (i64& d : index)
      if (d >= 0) d = diagonals++;
    const auto slots = checked_mul(diagonals, width);
    const auto types = index_types(goal, t.shape(), slots.value_or(-1));
    if (!slots || !types) return;
    storage::require_memory(*slots, static_cast<i64>(size_of(t.dtype())));
    with_index(types->widest(), [&]<class I>(I) {
      Buffer ends = Buffer::zeros(dtype_of<I>(), 2), offsets = Buffer::allocate(dtype_of<I>(), diagonals),
             values = Buffer::zeros(t.dtype(), *slots);
      static_cast<I*>(ends.data)[1] = static_cast<I>(diagonals);
      for (std::size_t d = 0; d < index.size(); ++d)
        if (index[d] >= 0) static_cast<I*>(offsets.data)[index[d]] = static_cast<I>(static_cast<i64>(d) - rows);
      with_width(t.dtype(), [&]<class W>(W) {
        const W* v = static_cast<const W*>(t.part().values.data);
        W* dv = static_cast<W*>(values.data);
        for_rows(pos, rows, [&](i64 begin, i64 end) {
          for (i64 i = begin; i < end; ++i)
            for (i64 k = pos[i]; k < static_cast<i64>(pos[i + 1]); ++k)
              dv[index[static_cast<std::size_t>(crd[k] - i + rows)] * width +
                 (range == 0 ? i : static_cast<i64>(crd[k]))] = v[k];
        });
      });
      result = assemble(t, goal, *types, {{ends, offsets}, {}}, values);
    });
  });
  return result;
}

std::optional<Tensor> diagonals_to_rows(const Tensor& t, const Goal& goal) {
  const int range = diagonals_of(t.format());
  const auto to = rows_of(goal.format, LevelKind::compressed);
  if (range < 0 || !to || to->outer != 0 || !t.format().level(0).ordered || !t.format().level(0).unique) return {};
  const Part& part = t.part();
  const i64 rows = extent(t, 0), columns = extent(t, 1), width = range == 0 ? rows : columns,
            diagonals = part.levels[0].pos.index(1);
  const auto slots = checked_mul(diagonals, width);
  const auto types = index_types(goal, t.shape(), slots.value_or(-1));
  if (!slots || !types) return {};
  if (diagonals < 0 || diagonals > part.levels[0].crd.size || *slots > part.values.size) throw SourceChanged();
  std::vector<i64> offsets(static_cast<std::size_t>(diagonals));
  for (i64 k = 0; k < diagonals; ++k) offsets[static_cast<std::size_t>(k)] = part.levels[0].crd.index(k);
  if (std::ranges::adjacent_find(offsets, std::ranges::greater_equal()) != offsets.end()) throw SourceChanged();
  const bool drop = drops_fill(t, goal);
  std::optional<Tensor> result;
  with_index(types->widest(), [&]<class I>(I) {
    with_width(t.dtype(), [&]<class W>(W) {
      const W* v = static_cast<const W*>(part.values.data);
      const IsFill<W> is_fill = fill_test<W>(t, goal);
      Buffer out_pos = Buffer::zeros(dtype_of<I>(), rows + 1);
      I* op = static_cast<I*>(out_pos.data);
      // Counting goes along the diagonals, where the compiler counts several rows at once; nothing is dropped
      // where !drop.
      for_even(rows, *slots, [&](i64 begin, i64 end) {
        for (i64 k = 0; k < diagonals; ++k) {
          const i64 d = offsets[static_cast<std::size_t>(k)], low = std::max(begin, -d),
                    high = std::min(end, columns - d);
          const i64 at = k * width + (range == 0 ? 0 : d);
          I* __restrict n = op + 1;
          if (drop)
            for (i64 i = low; i < high; ++i) n[i] += static_cast<I>(!is_fill(v[at + i]));
          else
            for (i64 i = low; i < high; ++i) ++n[i];
        }
      });
      const i64 nse = scan(op, rows);
      Buffer out_crd = Buffer::allocate(dtype_of<I>(), nse), values = Buffer::allocate(t.dtype(), nse);
      for_even(rows, *slots, [&](i64 begin, i64 end) {
        I* __restrict oc = static_cast<I*>(out_crd.data);
        W* __restrict ov = static_cast<W*>(values.data);
        // Per diagonal: where its element of row 0 lies, or would.
        std::vector<i64> at(offsets.size());
        for (std::size_t k = 0; k < at.size(); ++k) at[k] = static_cast<i64>(k) * width + (range == 0 ? 0 : offsets[k]);
        for (i64 i = begin; i < end; ++i) {
          i64 q = op[i];
          const i64 stop = op[i + 1];  // what lies behind may be another thread's
          for (std::size_t k = 0; k < at.size() && q < stop; ++k) {
            const i64 j = i + offsets[k];
            if (static_cast<std::uint64_t>(j) >= static_cast<std::uint64_t>(columns)) continue;
            const W x = v[at[k] + i];
            oc[q] = static_cast<I>(j);
            ov[q] = x;
            q += !drop || !is_fill(x);
          }
          if (q != stop) throw SourceChanged();
        }
      });
      result = assemble(t, goal, *types, {{}, {out_pos, out_crd}}, values);
    });
  });
  return result;
}

}  // namespace strata::fast
