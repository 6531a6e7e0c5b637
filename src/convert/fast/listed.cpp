// DCSR <-> CSR: coordinates and values are shared, only where rows begin is said in another way.
#include "convert/fast/support.h"

namespace strata::fast {

bool mostly_empty(i64 rows, i64 stored) { return rows / 8 > stored + 1024; }

std::optional<Tensor> rows_to_listed(const Tensor& t, const Goal& goal) {
  std::optional<Tensor> result;
  with_rows_like(t, goal, listed_rows_of(goal.format),
                 [&]<class S, class I>(const S* pos, i64 rows, i64 stored, IndexTypes types, I) {
                   i64 listed = 0;
                   for (i64 i = 0; i < rows; ++i) listed += pos[i] < pos[i + 1];
                   Buffer ends = Buffer::zeros(dtype_of<I>(), 2), row_crd = Buffer::allocate(dtype_of<I>(), listed),
                          row_pos = Buffer::allocate(dtype_of<I>(), listed + 1);
                   static_cast<I*>(ends.data)[1] = static_cast<I>(listed);
                   I *r = static_cast<I*>(row_crd.data), *p = static_cast<I*>(row_pos.data);
                   for (i64 i = 0, k = 0; i < rows; ++i) {
                     if (pos[i] == pos[i + 1]) continue;
                     p[k] = static_cast<I>(pos[i]);
                     r[k++] = static_cast<I>(i);
                   }
                   p[listed] = static_cast<I>(stored);
                   const Shared same(t, stored);
                   result = assemble(t, goal, types, {{ends, row_crd}, {row_pos, same.crd}}, same.values);
                 });
  return result;
}

std::optional<Tensor> listed_to_rows(const Tensor& t, const Goal& goal) {
  const auto from = listed_rows_of(t.format()), to = rows_of(goal.format, LevelKind::compressed);
  if (!from || !to || *from != *to) return {};
  const i64 rows = extent(t, from->outer);
  std::optional<Tensor> result;
  with_steady_indices(t, 0, rows, [&]<class S>(const S* ends, const S* row) {
    const i64 listed = ends[1];
    if (listed >= t.part().levels[1].pos.size) throw SourceChanged();
    with_indices(t.part().levels[1], [&]<class Q>(const Q* row_pos, const Q*) {
      const i64 stored = row_pos[listed];
      const auto types = index_types(goal, t.shape(), stored);
      if (!types || mostly_empty(rows, stored)) return;
      with_index(types->widest(), [&]<class I>(I) {
        Buffer kept = Buffer::allocate(dtype_of<I>(), rows + 1);
        I* pos = static_cast<I*>(kept.data);
        i64 i = 0;
        for (i64 k = 0; k < listed; ++k)
          for (; i <= static_cast<i64>(row[k]); ++i) pos[i] = static_cast<I>(row_pos[k]);
        for (; i <= rows; ++i) pos[i] = static_cast<I>(stored);
        const Shared same(t, stored);
        result = assemble(t, goal, *types, {{}, {kept, same.crd}}, same.values);
      });
    });
  });
  return result;
}

}  // namespace strata::fast
