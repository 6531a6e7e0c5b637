#include "tensor/same_storage.h"

#include <algorithm>
#include <cstring>

#include "backend/steps.h"

namespace strata {
namespace {

using storage::LevelView;

bool same_entries(std::int64_t n, const auto& read_a, const auto& read_b) {
  std::array<std::int64_t, 1024> x, y;
  for (std::int64_t p = 0; p < n; p += 1024) {
    const auto take = std::min<std::int64_t>(1024, n - p);
    read_a(p, take, x.data());
    read_b(p, take, y.data());
    if (!std::equal(x.begin(), x.begin() + take, y.begin())) return false;
  }
  return true;
}

bool same_bytes(const char* a, const char* b, std::int64_t n) {
  bool same = true;
  if (a == b) return same;
  in_steps(
      0, n,
      [&](std::int64_t begin, std::int64_t end) {
        same = same && std::memcmp(a + begin, b + begin, static_cast<std::size_t>(end - begin)) == 0;
      },
      std::int64_t{1} << 24);
  return same;
}

bool same_level(const LevelView& a, const LevelView& b, std::int64_t parents) {
  if (storage::has_pos(a.level.kind)) {
    const auto read = [](const LevelView& v) {
      return [&v](std::int64_t p, std::int64_t n, std::int64_t* out) { v.pos.read(p, n, out); };
    };
    const bool alike = a.pos.dtype == b.pos.dtype;
    const auto width = static_cast<std::int64_t>(size_of(a.pos.dtype));
    if (!(alike ? same_bytes(a.pos.data, b.pos.data, (parents + 1) * width)
                : same_entries(parents + 1, read(a), read(b))))
      return false;
  }
  if (!storage::has_crd(a.level.kind)) return true;
  const std::int64_t n = storage::crd_entries(a, parents, storage::storage_of(a.level.kind).positions(a, parents));
  if (a.level.kind == LevelKind::bitmap) return same_bytes(a.crd.data, b.crd.data, n * 8);
  if (a.bits == 0 && a.crd.dtype == b.crd.dtype)
    return same_bytes(a.crd.data, b.crd.data, n * static_cast<std::int64_t>(size_of(a.crd.dtype)));
  const auto read = [](const LevelView& v) {
    return [&v](std::int64_t p, std::int64_t count, std::int64_t* out) {
      v.read_crd(p, count, out);
      if (v.level.kind == LevelKind::padded && v.bits == 0)  // the mark reads differently per width
        for (std::int64_t k = 0; k < count; ++k)
          if (out[k] == all_ones(v.crd.dtype)) out[k] = -1;
    };
  };
  return same_entries(n, read(a), read(b));
}

}  // namespace

bool same_levels(const Part& a, const Part& b) {
  for (std::int64_t batch = 0; batch < batches(a); ++batch) {
    const auto x = level_views(a, batch), y = level_views(b, batch);
    std::int64_t parents = 1;
    for (std::size_t l = static_cast<std::size_t>(batch_levels(a)); l < x.size(); ++l) {
      if (!same_level(x[l], y[l], parents)) return false;
      parents = storage::storage_of(x[l].level.kind).positions(x[l], parents);
    }
  }
  return true;
}

namespace {

bool same_part(const Part& a, const Part& b, const Shape& shape, DType dtype) {
  if (!same_levels(a, b)) return false;
  const auto width = static_cast<std::int64_t>(size_of(dtype));
  const bool dense = a.format.is_all_dense();
  const std::int64_t used = used_values(a);
  if (!dense && batches(a) == 1 && a.value_stride == 1 && b.value_stride == 1 && count_slots(a, shape) == used)
    return same_bytes(static_cast<const char*>(a.values.data), static_cast<const char*>(b.values.data), used * width);
  // The structures agree, so the slots do: compare the values of those in range. The two walks run in step, in bounded
  // pieces.
  bool same = true;
  std::vector<std::int64_t> levels(a.ranges.size()), dims(shape.size());
  walk_slots(a, shape, [&](const SlotChunk& c) {
    for (int i = 0; same && i < c.n; ++i) {
      std::int64_t other;
      if (dense) {
        for (std::size_t d = 0; d < dims.size(); ++d) dims[d] = c.dims[d][i];
        a.format.dim2lvl(dims, levels);
        other = b.values_offset;
        for (std::size_t l = 0; l < levels.size(); ++l) other += (levels[l] - b.ranges[l].lo) * b.strides[l];
      } else {
        other = (batches(b) > 1 ? c.batch * b.values_batch_stride : 0) + c.position[i] * b.value_stride;
      }
      same = std::memcmp(static_cast<const char*>(a.values.data) + c.slot[i] * width,
                         static_cast<const char*>(b.values.data) + other * width, static_cast<std::size_t>(width)) == 0;
    }
  });
  return same;
}

}  // namespace

bool same_storage(const Tensor& a, const Tensor& b) {
  if (a.same_object(b)) return true;
  if (!(a.format() == b.format()) || a.shape() != b.shape() || a.dtype() != b.dtype() || !a.fill().same_bits(b.fill()))
    return false;
  for (int k = 0; k < a.num_parts(); ++k)
    if (!same_part(a.part(k), b.part(k), a.shape(), a.dtype())) return false;
  return true;
}

bool touches(const Tensor& t, std::pair<const char*, const char*> range) {
  const auto hits = [&](const Buffer& b) {
    const auto* begin = static_cast<const char*>(b.data);
    return begin < range.second && range.first < begin + b.bytes();
  };
  for (int k = 0; k < t.num_parts(); ++k) {
    const Part& p = t.part(k);
    if (hits(p.values)) return true;
    for (const auto& l : p.levels)
      if (hits(l.pos) || hits(l.crd)) return true;
  }
  return false;
}

}  // namespace strata
