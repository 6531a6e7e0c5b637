// Leaving out the elements that hold no more than the fill.
#include "convert/drop_zeros.h"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "convert/fast/fast.h"
#include "convert/slice_rows.h"
#include "levels/index_view.h"
#include "tensor/is_fill.h"
#include "tensor/source_changed.h"
#include "tensor/values.h"

namespace strata {

using namespace slicing;

namespace conversion {
namespace {

/// Levels that store one list of elements, or one for each of a dense list of rows: the compressed level's number, or
/// -1.
int listing_level(const Format& f) {
  if (f.num_parts() != 1) return -1;
  int l = 0;
  while (l < f.num_levels() && f.level(l).kind == LevelKind::dense) ++l;
  if (l == f.num_levels() || f.level(l).kind != LevelKind::compressed) return -1;
  for (int k = l + 1; k < f.num_levels(); ++k)
    if (f.level(k).kind != LevelKind::singleton) return -1;
  return l;
}

/// The entries of a list from `k` on that are kept, to places [at, end) of another. Written before it is known to be
/// kept, and written over where it is not: what is kept is what a core cannot guess.
template <class T> void move_kept(const Buffer& from, const Buffer& to, i64 k, i64 at, i64 end, const char* keep) {
  const auto* x = static_cast<const char*>(from.data);
  auto* y = static_cast<char*>(to.data);
  constexpr auto width = static_cast<i64>(sizeof(T));
  for (; at < end; ++k) {
    std::memcpy(y + at * width, x + k * width, sizeof(T));
    at += keep[k];
  }
}

/// CSR, COO and their kin keep their levels: nothing is sorted.
std::optional<Tensor> compacted(const Tensor& t) {
  const int level = listing_level(t.format());
  const Part& part = t.part();
  if (level < 0 || part.num_batches != 1 || part.value_stride != 1) return {};
  const auto listed = static_cast<std::size_t>(level);
  const Buffer& pos = part.levels[listed].pos;
  i64 parents = 1;
  for (std::size_t l = 0; l < listed; ++l) parents *= part.ranges[l].size;
  const i64 stored = pos.index(parents);
  // Rows, or pieces of one list.
  std::vector<i64> from;
  if (level > 0) {
    from.resize(static_cast<std::size_t>(parents) + 1);
    IndexView(pos).read(0, parents + 1, from.data());
  } else {
    for (i64 k = 0; k < stored; k += i64{1} << 15) from.push_back(k);
    from.push_back(stored);
  }
  if (from.front() != 0 || from.back() != stored || stored > part.values.size || !std::ranges::is_sorted(from))
    throw SourceChanged();
  for (std::size_t l = listed; l < part.levels.size(); ++l)
    if (stored > part.levels[l].crd.size) throw SourceChanged();
  const auto begin = [&](const std::vector<i64>& list, i64 k) { return list[static_cast<std::size_t>(k)]; };
  const i64 pieces = static_cast<i64>(from.size()) - 1;
  std::vector<i64> to(from.size());
  Buffer kept = Buffer::allocate(DType::u8, stored);
  auto* keep = static_cast<char*>(kept.data);
  const auto width = size_of(t.dtype());
  with_width(width, [&]<class W>(W) {
    const IsFill<W> is_fill(as_fill(t.fill()));
    const auto* values = static_cast<const char*>(part.values.data);
    each_row(pieces, [&](i64 p) {
      i64 n = 0;
      for (i64 k = begin(from, p); k < begin(from, p + 1); ++k) {
        const bool here = !is_fill(load_as<W>(values + k * static_cast<i64>(sizeof(W))));
        keep[k] = here;
        n += here;
      }
      to[static_cast<std::size_t>(p) + 1] = n;
    });
  });
  std::inclusive_scan(to.begin(), to.end(), to.begin());
  if (to.back() == stored) return t;
  Part out = part;
  LevelArrays& arrays = out.levels[listed];
  arrays.pos = Buffer::allocate(pos.dtype, parents + 1);
  for (i64 p = 0; p <= parents; ++p) arrays.pos.set_index(p, level > 0 ? begin(to, p) : p == 0 ? 0 : to.back());
  const auto compact = [&](Buffer& list, std::size_t bytes) {
    const Buffer all = list;
    list = Buffer::allocate(list.dtype, to.back());
    with_width(bytes, [&]<class W>(W) {
      each_row(pieces, [&](i64 p) { move_kept<W>(all, list, begin(from, p), begin(to, p), begin(to, p + 1), keep); });
    });
  };
  for (std::size_t l = listed; l < out.levels.size(); ++l) compact(out.levels[l].crd, size_of(out.levels[l].crd.dtype));
  compact(out.values, width);
  return make_from_parts(t.type(), {std::move(out)});
}

std::optional<Tensor> without_fill_in_lists(const Tensor& t) { return while_it_changes(t, compacted); }

/// The stream of `t` without slots that hold no more than the fill.
ElementSource without_fill(const Tensor& t) {
  const ElementSource all = stored_elements(t, Zeros::automatic);
  const auto kept = [t, all](const Sink& sink) {
    with_width(size_of(t.dtype()), [&]<class W>(W) {
      const IsFill<W> is_fill(as_fill(t.fill()));
      std::vector<std::vector<i64>> columns(static_cast<std::size_t>(t.rank()));
      std::vector<const i64*> dims(columns.size());
      std::vector<char> values;
      all.emit([&](const ElementChunk& p) {
        for (auto& c : columns) c.clear();
        values.clear();
        int n = 0;
        for (int k = 0; k < p.n; ++k) {
          const char* address = p.values + static_cast<std::size_t>(k) * sizeof(W);
          if (is_fill(load_as<W>(address))) continue;
          for (std::size_t d = 0; d < columns.size(); ++d) columns[d].push_back(p.dims[d][k]);
          values.insert(values.end(), address, address + sizeof(W));
          ++n;
        }
        for (std::size_t d = 0; d < columns.size(); ++d) dims[d] = columns[d].data();
        if (n > 0) sink({n, dims.data(), values.data()});
      });
    });
  };
  return {kept, all.at_most};
}

Format lists_of(const Tensor& t) { return lists_for(t.shape(), t.nse()); }

Tensor per_part(const Tensor& t, const ConvertOptions& options) {
  std::vector<Tensor> parts;
  for (int k = 0; k < t.num_parts(); ++k) {
    const Tensor part = t.part_tensor(k);
    parts.push_back(convert(part, part.format(), options));
  }
  return make_sum(parts);
}

}  // namespace

Tensor drop(const Tensor& given, const Format& format, const ConvertOptions& options, bool general) {
  ConvertOptions rest = options;
  if (given.num_parts() > 1 && given.format() == format && options.split.kind == Split::automatic)
    return per_part(given, options);
  rest.zeros = Zeros::keep;
  if (given.format().is_all_dense() && format.is_all_dense()) return convert(given, format, rest);
  // What is dropped is what the result would hold: duplicates are added and values cast before.
  Tensor t = given;
  if (t.num_parts() > 1 || !t.format().is_unique()) t = convert(t, lists_of(t));
  if (options.dtype) t = convert(t, t.format(), {.dtype = options.dtype, .zeros = Zeros::keep});
  rest.dtype.reset();
  if (!general) {
    if (const auto kept = without_fill_in_lists(t)) return convert(*kept, format, rest);
    if (const auto kept = without_fill_in_lists(convert(t, lists_of(t)))) return convert(*kept, format, rest);
  }
  return assemble(without_fill(t), t.dtype(), t.fill(), t.shape(), format, rest);
}

Tensor unlike_fill(const Tensor& t) {
  if (t.num_parts() == 1 && t.format().can_hold_fill()) return t;  // fill-in, as all that looks like it
  for (int k = 0; k < t.num_parts(); ++k) {
    const Part& part = t.part(k);
    const auto* truth = static_cast<const std::uint8_t*>(part.values.data);
    const i64 n = part.value_stride == 0 ? std::min<i64>(part.values.size, 1) : used_values(part);
    if (std::find(truth, truth + n, t.fill().bits[0]) != truth + n) return drop_zeros(t);
  }
  return t;
}

Format lists_for(const Shape& shape, i64 stored) {
  const auto rank = static_cast<int>(shape.size());
  return parse_format(rank == 2 && !fast::mostly_empty(shape[0], stored) ? "CSR" : "COO", rank);
}

}  // namespace conversion

Tensor drop_zeros(const Tensor& t) { return convert(t, t.format(), {.zeros = Zeros::drop}); }

}  // namespace strata
