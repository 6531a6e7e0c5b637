// Other index dtypes and nothing else: whoever narrows coordinates to save memory pays for casts of arrays.
#include "convert/recast.h"

#include <algorithm>

#include "backend/own_memory.h"
#include "backend/steps.h"
#include "convert/convert_elements.h"
#include "tensor/source_changed.h"

namespace strata::conversion {
namespace {

bool changes_indices_alone(const Tensor& t, const Format& format, const ConvertOptions& options) {
  const TensorType& type = t.type();
  if (!(type.format == format) || options.split.kind != Split::automatic || !type.strides.empty() ||
      type.shared_value || format.num_batch_levels() > 0 || format.is_all_dense() ||
      options.dtype.value_or(type.dtype) != type.dtype)
    return false;
  for (int k = 0; k < t.num_parts(); ++k) {
    if (!t.part(k).format.is_unique()) return false;
    for (const Level& level : t.part(k).format.levels())
      if (!level.ordered || (level.kind == LevelKind::padded && level.arg == 0)) return false;
  }
  for (const auto& asked : {options.pos_dtype, options.crd_dtype})
    if (asked && !is_index(*asked)) return false;  // the general path says so
  return true;
}

bool plain_crd(const storage::LevelView& v) {
  return storage::has_crd(v.level.kind) && v.bits == 0 && v.level.kind != LevelKind::bitmap;
}

/// Positions above each level, the last ones being slots.
std::vector<std::int64_t> positions_in_use(const std::vector<storage::LevelView>& views) {
  std::vector<std::int64_t> n{1};
  for (const storage::LevelView& v : views) {
    if (storage::has_pos(v.level.kind) && n.back() >= v.pos.size) throw SourceChanged();
    n.push_back(storage::storage_of(v.level.kind).positions(v, n.back()));
    if (n.back() < 0 || (plain_crd(v) && storage::crd_entries(v, n[n.size() - 2], n.back()) > v.crd.size))
      throw SourceChanged();
  }
  return n;
}

void check_entries(const storage::LevelView& v, std::int64_t used, DType dtype) {
  if (!levels::is_registered(v.level.kind) && all_coordinates_fit(v.level, v.index, v.range, dtype)) return;
  const std::int64_t high = index_max(dtype), low = is_signed_int(dtype) ? -high - 1 : 0,
                     unused = all_ones(v.crd.dtype);
  for (std::int64_t p = 0; p < used; ++p) {
    poll_at(p + 1);
    const std::int64_t c = v.crd[p];
    if ((c < low || c > high) && (v.level.kind != LevelKind::padded || c != unused))
      coordinate_does_not_fit(v.level, v.index, c, dtype);
  }
}

Buffer cast_first(Buffer entries, std::int64_t n, DType dtype) {
  entries.size = n;
  return entries.cast(dtype);
}

/// All ones in one width are not all ones in a wider one. No coordinate is cast to the same as they are.
void renew_marks(const Buffer& crd, DType from) {
  with_index_type(crd.dtype, [&]<class T>(T) {
    const T before = static_cast<T>(all_ones(from)), mark = static_cast<T>(-1);
    for (T& entry : crd.as<T>())
      if (entry == before) entry = mark;
  });
}

Tensor cast_indices(const Tensor& t, const ConvertOptions& options) {
  TensorType type = t.type();
  std::vector<std::vector<storage::LevelView>> views;
  std::vector<std::vector<std::int64_t>> used;
  bool has_pos = false, has_crd = false, borrowed = false;
  std::int64_t most = t.nse();
  for (int k = 0; k < t.num_parts(); ++k) {
    views.push_back(level_views(t.part(k)));
    used.push_back(positions_in_use(views.back()));
    for (const storage::LevelView& v : views.back()) {
      const LevelArrays& a = t.part(k).levels[static_cast<std::size_t>(v.index)];
      has_crd |= storage::has_crd(v.level.kind);
      borrowed |= (!a.pos.empty() && !is_own(a.pos)) || (!a.crd.empty() && !is_own(a.crd));
      if (!storage::has_pos(v.level.kind)) continue;
      has_pos = true;
      most = std::max(most, used.back()[static_cast<std::size_t>(v.index) + 1]);
    }
  }
  type.pos_dtype = has_pos ? options.pos_dtype.value_or(index_dtype_for(most)) : DType::i32;
  type.crd_dtype = has_crd ? options.crd_dtype.value_or(automatic_crd_dtype(type.format, type.shape)) : DType::i32;

  std::vector<Part> parts;
  for (int k = 0; k < t.num_parts(); ++k) {
    Part part = t.part(k);
    const auto& n = used[static_cast<std::size_t>(k)];
    for (const storage::LevelView& v : views[static_cast<std::size_t>(k)]) {
      const auto l = static_cast<std::size_t>(v.index);
      LevelArrays& a = part.levels[l];
      if (storage::has_pos(v.level.kind) && a.pos.dtype != type.pos_dtype) {
        if (n[l + 1] > index_max(type.pos_dtype)) position_does_not_fit(v.level, v.index, n[l + 1], type.pos_dtype);
        a.pos = cast_first(a.pos, n[l] + 1, type.pos_dtype);
      }
      if (!plain_crd(v) || v.crd.dtype == type.crd_dtype) continue;
      const std::int64_t entries = storage::crd_entries(v, n[l], n[l + 1]);
      check_entries(v, entries, type.crd_dtype);
      a.crd = cast_first(a.crd, entries, type.crd_dtype);
      if (v.level.kind == LevelKind::padded) renew_marks(a.crd, v.crd.dtype);
    }
    parts.push_back(std::move(part));
  }
  Tensor result = make_from_parts(std::move(type), std::move(parts));
  if (borrowed) {  // what is the library's own is believed later: another's memory may have changed since it was
                   // checked
    try {
      result.validate();
    } catch (const TensorError&) { throw SourceChanged(); }
  }
  return result;
}

}  // namespace

std::optional<Tensor> recast(const Tensor& t, const Format& format, const ConvertOptions& options) {
  if (!changes_indices_alone(t, format, options)) return {};
  return while_it_changes(t, [&](const Tensor& source) { return cast_indices(source, options); });
}

}  // namespace strata::conversion
