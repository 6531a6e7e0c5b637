// Dense <-> CSR and CSC.
#include "base/checked.h"
#include "convert/fast/support.h"

namespace strata::fast {

namespace {

/// Strides by dimension of a plain dense matrix; nothing for other formats.
std::optional<std::array<i64, 2>> matrix_strides(const Tensor& t) {
  const Format& f = t.format();
  if (f.num_parts() != 1 || f.rank() != 2 || !f.is_all_dense() || f.num_batch_levels() > 0 || f.num_levels() != 2 ||
      !f.is_identity())
    return {};
  std::array<i64, 2> strides{};
  for (int l = 0; l < 2; ++l)
    strides[static_cast<std::size_t>(plain_dim(f, l))] = t.part().strides[static_cast<std::size_t>(l)];
  return strides;
}

}  // namespace

std::optional<Tensor> dense_to_rows(const Tensor& t, const Goal& goal) {
  const auto to = rows_of(goal.format, LevelKind::compressed);
  const auto strides = matrix_strides(t);
  if (!to || !strides) return {};
  const i64 rows = extent(t, to->outer), columns = extent(t, to->inner);
  const auto size = checked_mul(rows, columns);
  const auto types = index_types(goal, t.shape(), size.value_or(-1));
  if (!size || !types) return {};
  const i64 down = (*strides)[static_cast<std::size_t>(to->outer)],
            along = (*strides)[static_cast<std::size_t>(to->inner)];
  const bool drop = drops_fill(t, goal);
  std::optional<Tensor> result;
  with_index(types->widest(), [&]<class I>(I) {
    with_width(t.dtype(), [&]<class W>(W) {
      const W* base = static_cast<const W*>(t.part().values.data) + t.part().values_offset;
      const IsFill<W> is_fill = fill_test<W>(t, goal);
      Buffer out_pos = Buffer::zeros(dtype_of<I>(), rows + 1);
      I* op = static_cast<I*>(out_pos.data);
      for_even(rows, *size, [&](i64 begin, i64 end) {
        for (i64 i = begin; i < end; ++i) {
          const W* v = base + i * down;
          i64 n = 0;
          if (!drop) n = columns;
          else if (along == 1)
            for (i64 j = 0; j < columns; ++j) n += !is_fill(v[j]);
          else
            for (i64 j = 0; j < columns; ++j) n += !is_fill(v[j * along]);
          op[i + 1] = static_cast<I>(n);
        }
      });
      const i64 nse = scan(op, rows);
      // The branch-free fill below writes one slot past each row before the next row claims it: one slot of slack.
      Buffer out_crd = Buffer::allocate(dtype_of<I>(), nse + 1), values = Buffer::allocate(t.dtype(), nse + 1);
      I* oc = static_cast<I*>(out_crd.data);
      W* ov = static_cast<W*>(values.data);
      for_even(rows, *size, [&](i64 begin, i64 end) {
        for (i64 i = begin; i < end; ++i) {
          const W* v = base + i * down;
          i64 q = op[i];
          const i64 stop = op[i + 1];
          // Stopping at `stop` keeps a slice from touching the first slot of the next one.
          for (i64 j = 0; j < columns && q < stop; ++j) {
            const W w = v[j * along];
            oc[q] = static_cast<I>(j);
            ov[q] = w;
            q += !drop || !is_fill(w);
          }
          if (q != stop) throw SourceChanged();
        }
      });
      out_crd.size = values.size = nse;
      result = assemble(t, goal, *types, {{}, {out_pos, out_crd}}, values);
    });
  });
  return result;
}

std::optional<Tensor> rows_to_dense(const Tensor& t, const Goal& goal) {
  const auto from = rows_of(t.format(), LevelKind::compressed);
  const Format& f = goal.format;
  if (!from || !t.format().level(1).unique || f.num_parts() != 1 || !f.is_all_dense() || !f.is_identity() ||
      f.num_batch_levels() > 0 || f.num_levels() != 2)
    return {};
  const i64 rows = extent(t, from->outer), columns = extent(t, from->inner);
  const auto size = checked_mul(rows, columns);
  if (!size) return {};
  const bool same_order = plain_dim(f, 0) == from->outer;
  const i64 down = same_order ? columns : 1, along = same_order ? 1 : rows;
  std::optional<Tensor> result;
  with_steady_indices(t, 1, columns, [&]<class S>(const S* pos, const S* crd) {
    with_width(t.dtype(), [&]<class W>(W) {
      storage::require_memory(*size, static_cast<i64>(sizeof(W)));
      Buffer values = Buffer::allocate(t.dtype(), *size);
      W* out = static_cast<W*>(values.data);
      const W* v = static_cast<const W*>(t.part().values.data);
      const W fill = fill_bits<W>(t);
      const auto scatter = [&](i64 i) {
        for (i64 k = pos[i]; k < static_cast<i64>(pos[i + 1]); ++k)
          out[i * down + static_cast<i64>(crd[k]) * along] = v[k];
      };
      if (along == 1) {  // a row is cleared and filled while it is in a cache
        for_even(rows, *size, [&](i64 begin, i64 end) {
          for (i64 i = begin; i < end; ++i) {
            std::fill_n(out + i * columns, columns, fill);
            scatter(i);
          }
        });
      } else {
        for_even(*size, *size, [&](i64 begin, i64 end) { std::fill(out + begin, out + end, fill); });
        for_rows(pos, rows, [&](i64 begin, i64 end) {
          for (i64 i = begin; i < end; ++i) scatter(i);
        });
      }
      RawArrays arrays;
      arrays.values = values;
      result = make_tensor(f, t.shape(), std::move(arrays), t.fill(), false);
    });
  });
  return result;
}

}  // namespace strata::fast
