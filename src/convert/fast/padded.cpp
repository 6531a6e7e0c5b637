// CSR <-> ELL, by rows or by columns.
#include <atomic>

#include "convert/fast/support.h"

namespace strata::fast {

std::optional<Tensor> rows_to_padded(const Tensor& t, const Goal& goal) {
  const auto from = rows_of(t.format(), LevelKind::compressed), to = rows_of(goal.format, LevelKind::padded);
  if (!from || !to || !(*from == *to) || !t.format().level(1).unique || !t.format().level(1).ordered) return {};
  std::optional<Tensor> result;
  with_indices(t.part().levels[1], [&]<class S>(const S* pos, const S* crd) {
    const i64 rows = extent(t, from->outer);
    std::atomic<i64> longest{0};
    for_rows(pos, rows, [&](i64 begin, i64 end) {
      i64 most = 0;
      for (i64 i = begin; i < end; ++i) most = std::max<i64>(most, pos[i + 1] - pos[i]);
      for (i64 seen = longest; seen < most && !longest.compare_exchange_weak(seen, most);) {}
    });
    FormatSpec spec = goal.format.spec();
    i64& width = spec.levels[1].arg;
    if (width == 0) width = longest;
    if (longest > width) return;  // too little room: the general path says so
    const auto slots = checked_mul(rows, width);
    ConvertOptions options = goal.options;
    options.pos_dtype = DType::i32;  // there are none
    const auto types = index_types({goal.format, options}, t.shape(), 0);
    if (!slots || !types) return;
    storage::require_memory(*slots, static_cast<i64>(size_of(t.dtype()) + size_of(types->crd)));
    with_index(types->crd, [&]<class I>(I) {
      with_width(t.dtype(), [&]<class W>(W) {
        Buffer out_crd = Buffer::allocate(types->crd, *slots), values = Buffer::allocate(t.dtype(), *slots);
        const W* v = static_cast<const W*>(t.part().values.data);
        I* oc = static_cast<I*>(out_crd.data);
        W* ov = static_cast<W*>(values.data);
        for_even(rows, *slots, [&](i64 begin, i64 end) {
          for (i64 i = begin; i < end; ++i) {
            const i64 first = pos[i], n = pos[i + 1] - first, at = i * width;
            for (i64 k = 0; k < n; ++k) {
              oc[at + k] = static_cast<I>(crd[first + k]);
              ov[at + k] = v[first + k];
            }
            std::fill(oc + at + n, oc + at + width, static_cast<I>(-1));
            std::fill(ov + at + n, ov + at + width, W{});
          }
        });
        const Format format(spec);
        result = assemble(t, {format, options}, *types, {{}, {{}, out_crd}}, values);
      });
    });
  });
  return result;
}

std::optional<Tensor> padded_to_rows(const Tensor& t, const Goal& goal) {
  const auto from = rows_of(t.format(), LevelKind::padded), to = rows_of(goal.format, LevelKind::compressed);
  if (!from || !to || !(*from == *to) || !t.format().level(1).unique || !t.format().level(1).ordered) return {};
  const Buffer& used = t.part().levels[1].crd;
  const i64 rows = extent(t, from->outer), width = t.format().level(1).arg;
  const auto slots = checked_mul(rows, width);
  const auto types = index_types(goal, t.shape(), slots.value_or(-1));
  if (!slots || !types) return {};
  std::optional<Tensor> result;
  const auto convert = [&]<class S>(const S* crd) {
    with_index(types->widest(), [&]<class I>(I) {
      with_width(t.dtype(), [&]<class W>(W) {
        const W* v = static_cast<const W*>(t.part().values.data);
        Buffer out_pos = Buffer::allocate(dtype_of<I>(), rows + 1);
        I* op = static_cast<I*>(out_pos.data);
        for_even(rows, *slots, [&](i64 begin, i64 end) {
          for (i64 i = begin; i < end; ++i) {
            I n = 0;
            for (i64 k = 0; k < width; ++k) n += static_cast<I>(crd[i * width + k] >= 0);  // unused ones are all ones
            op[i + 1] = n;
          }
        });
        const i64 nse = scan(op, rows);
        Buffer out_crd = Buffer::allocate(dtype_of<I>(), nse), values = Buffer::allocate(t.dtype(), nse);
        I* oc = static_cast<I*>(out_crd.data);
        W* ov = static_cast<W*>(values.data);
        for_even(rows, *slots, [&](i64 begin, i64 end) {
          for (i64 i = begin; i < end; ++i)
            for (i64 q = op[i], k = i * width; q < static_cast<i64>(op[i + 1]); ++q, ++k) {
              const S c = crd[k];
              if (c < 0) throw SourceChanged();
              oc[q] = static_cast<I>(c);
              ov[q] = v[k];
            }
        });
        result = assemble(t, goal, *types, {{}, {out_pos, out_crd}}, values);
      });
    });
  };
  if (used.dtype == DType::i32 && aligned<i32>(used)) convert(static_cast<const i32*>(used.data));
  else if (used.dtype == DType::i64 && aligned<i64>(used)) convert(static_cast<const i64*>(used.data));
  return result;
}

}  // namespace strata::fast
