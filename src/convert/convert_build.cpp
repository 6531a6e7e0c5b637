// From sorted elements to the arrays of a part, level by level, batch by batch.
#include <algorithm>
#include <cstring>

#include "backend/allocator.h"
#include "backend/steps.h"
#include "convert/convert_elements.h"
#include "tensor/values.h"

namespace strata::conversion {
namespace {

/// The elements of one batch on their way down the levels.
struct Batch {
  std::int64_t begin = 0, end = 0;
  std::int64_t parents = 1;
  std::vector<storage::Built> built;  ///< per level
};

int chain_end(const Format& f, int l) {
  if (f.level(l).unique || f.level(l).kind == LevelKind::singleton) return l;
  while (l + 1 < f.num_levels() && f.level(l + 1).kind == LevelKind::singleton) ++l;
  return l;
}

void check_coordinates_fit(const Elements& elements, std::size_t l, const Level& level, DType dtype) {
  const LevelRange& r = elements.ranges()[l];
  const int index = static_cast<int>(l);
  if (!storage::lists_coordinates(level, r.size)) return;
  if (all_coordinates_fit(level, index, r, dtype)) return;
  const std::int64_t high = index_max(dtype), low = is_signed_int(dtype) ? -high - 1 : 0;
  for (std::int64_t e = 0; e < elements.size(); ++e) {
    poll_at(e + 1);
    if (const auto c = elements.coordinate(l, e); c < low || c > high) coordinate_does_not_fit(level, index, c, dtype);
  }
}

/// Bytes apart, so that every batch of a packed array starts at a 64-bit word.
std::int64_t stride_of(const std::vector<Batch>& batches, std::size_t l, bool packed) {
  std::int64_t most = 0;
  for (const Batch& b : batches) most = std::max(most, b.built[l].crd.size);
  return packed ? ceil_div(most, 8) * 8 : most;
}

Buffer stack(const std::vector<Batch>& batches, std::size_t l, std::int64_t stride, DType dtype, bool padded) {
  const auto total = checked_mul(stride, static_cast<std::int64_t>(batches.size()));
  if (!total) throw OutOfMemory(-1);
  storage::require_memory(*total, static_cast<std::int64_t>(size_of(dtype)));
  Buffer all = Buffer::allocate(dtype, *total);
  std::memset(all.data, padded ? 0xFF : 0, static_cast<std::size_t>(all.bytes()));
  for (std::size_t b = 0; b < batches.size(); ++b) {
    const Buffer& one = batches[b].built[l].crd;
    if (one.size > 0)
      std::memcpy(static_cast<char*>(all.data) +
                      static_cast<std::int64_t>(b) * stride * static_cast<std::int64_t>(size_of(dtype)),
                  one.data, static_cast<std::size_t>(one.bytes()));
  }
  return all;
}

void fill_values(Buffer& values, const Scalar& fill) {
  const auto width = size_of(values.dtype);
  bool zero = true;
  for (std::size_t k = 0; k < width; ++k) zero = zero && fill.bits[k] == 0;
  if (zero) {
    in_steps(
        0, values.bytes(),
        [&](std::int64_t begin, std::int64_t end) {
          std::memset(static_cast<char*>(values.data) + begin, 0, static_cast<std::size_t>(end - begin));
        },
        1 << 22);
    return;
  }
  with_width(width, [&]<class T>(T) {
    T bits;
    std::memcpy(&bits, fill.bits, sizeof bits);
    T* const to = static_cast<T*>(values.data);
    in_steps(0, values.size, [&](std::int64_t begin, std::int64_t end) { std::fill(to + begin, to + end, bits); });
  });
}

}  // namespace

Part build_part(const Elements& elements, const ConversionTarget& target) {
  Part part;
  part.format = elements.format();
  part.ranges = elements.ranges();
  const Format format = part.format;
  const int levels = format.num_levels();
  const bool all_dense = format.is_all_dense();
  const int nb = all_dense ? 0 : format.num_batch_levels();
  part.num_batches = 1;
  for (int l = 0; l < format.num_batch_levels(); ++l) {
    const auto n = checked_mul(part.num_batches, part.ranges[static_cast<std::size_t>(l)].size);
    if (!n) throw TensorError({.what = "more batches than 64 bits count", .expected = {}, .got = {}});
    part.num_batches = *n;
  }
  for (int l = 0; l < levels; ++l)
    check_coordinates_fit(elements, static_cast<std::size_t>(l), format.level(l), target.crd_dtype);

  const std::int64_t n = elements.size();
  const auto differs = elements.differs();
  if (nb > 0) storage::require_memory(part.num_batches, static_cast<std::int64_t>(sizeof(Batch)) + 64 * levels);
  std::vector<Batch> batches(static_cast<std::size_t>(nb > 0 ? part.num_batches : 1));
  for (Batch& b : batches) b.built.resize(static_cast<std::size_t>(levels));
  if (nb == 0) {
    batches[0].end = n;
  } else {
    std::int64_t e = 0;
    for (std::size_t b = 0; b < batches.size(); ++b) {
      batches[b].begin = e;
      poll_at(static_cast<std::int64_t>(b) + 1);
      for (; e < n; ++e) {
        poll_at(e + 1);
        std::int64_t index = 0;
        for (std::size_t l = 0; l < static_cast<std::size_t>(nb); ++l)
          index = index * part.ranges[l].size + elements.coordinate(l, e) - part.ranges[l].lo;
        if (index != static_cast<std::int64_t>(b)) break;
      }
      batches[b].end = e;
    }
  }

  PodArray<std::int64_t> position(static_cast<std::size_t>(n)), coordinate(static_cast<std::size_t>(n));
  in_steps(0, n, [&](std::int64_t begin, std::int64_t end) {
    std::fill(position.begin() + begin, position.begin() + end, 0);
  });
  for (int l = nb; l < levels; ++l) {
    const auto i = static_cast<std::size_t>(l);
    elements.column(i, 0, n, coordinate.data());
    Level level = part.format.level(l);
    const int end = chain_end(format, l);
    const auto input = [&](const Batch& b) {
      return storage::BuildInput{.level = level,
                                 .range = part.ranges[i],
                                 .index = l,
                                 .chain_end = end,
                                 .parents = b.parents,
                                 .n = b.end - b.begin,
                                 .position = position.data() + b.begin,
                                 .coordinate = coordinate.data() + b.begin,
                                 .differs = differs.data() + b.begin,
                                 .crd_dtype = target.crd_dtype};
    };
    if (level.kind == LevelKind::padded && level.arg == 0) {  // the longest row, over all batches
      for (const Batch& b : batches) {
        const auto in = input(b);
        std::int64_t row = 0;
        for (std::int64_t e = 0; e < in.n; ++e) {
          poll_at(e + 1);
          if (e > 0 && in.position[e] != in.position[e - 1]) row = 0;
          row += in.starts(e);
          level.arg = std::max(level.arg, row);
        }
      }
      part.format = with_argument(part.format, l, level.arg);
    }
    const storage::LevelStorage& storage = storage::storage_of(level.kind);
    for (Batch& b : batches) {
      b.built[i] = storage.build(input(b));
      b.parents = b.built[i].positions;
    }
  }

  part.levels.resize(static_cast<std::size_t>(levels));
  part.pos_strides.assign(static_cast<std::size_t>(levels), 0);
  part.crd_strides.assign(static_cast<std::size_t>(levels), 0);
  for (int l = nb; l < levels; ++l) {
    const auto i = static_cast<std::size_t>(l);
    const Level& level = part.format.level(l);
    LevelArrays& out = part.levels[i];
    if (storage::has_pos(level.kind)) {
      std::int64_t longest = 0;
      for (const Batch& b : batches) longest = std::max(longest, b.built[i].pos.size);
      if (nb == 0) {
        out.pos = std::move(batches[0].built[i].pos);
      } else {
        out.pos = Buffer::allocate(DType::i64, longest * static_cast<std::int64_t>(batches.size()));
        part.pos_strides[i] = longest;
        auto* to = static_cast<std::int64_t*>(out.pos.data);
        for (const Batch& b : batches) {
          const auto pos = b.built[i].pos.as<std::int64_t>();
          to = std::copy(pos.begin(), pos.end(), to);
          // Below a level whose positions differ from batch to batch the tail is capacity; it repeats the end.
          to = std::fill_n(to, longest - static_cast<std::int64_t>(pos.size()), pos.back());
        }
      }
    }
    if (storage::has_crd(level.kind)) {
      const bool packed = packed_bits(level, part.ranges[i].size) > 0;
      const DType dtype = packed ? DType::u8 : level.kind == LevelKind::bitmap ? DType::u64 : target.crd_dtype;
      if (nb > 0) {
        part.crd_strides[i] = stride_of(batches, i, packed);
        out.crd = stack(batches, i, part.crd_strides[i], dtype, level.kind == LevelKind::padded);
      } else {
        out.crd = std::move(batches[0].built[i].crd);
      }
    }
  }

  std::int64_t slots = 0;
  for (const Batch& b : batches) slots = std::max(slots, b.parents);
  const auto total = checked_mul(slots, static_cast<std::int64_t>(batches.size()));
  const auto width = static_cast<std::int64_t>(elements.width());
  if (!total) throw TensorError({.what = "more slots than 64 bits count", .expected = {}, .got = {}});
  storage::require_memory(*total, width);
  part.values = Buffer::allocate(elements.dtype(), *total);
  if (*total != n) fill_values(part.values, target.fill);
  if (nb > 0) part.values_batch_stride = slots;
  with_width(elements.width(), [&]<class T>(T) {
    const char* from = elements.values();
    for (std::size_t b = 0; b < batches.size(); ++b) {
      char* to = static_cast<char*>(part.values.data) + static_cast<std::int64_t>(b) * slots * width;
      in_steps(batches[b].begin, batches[b].end, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t e = begin; e < end; ++e)
          std::memcpy(to + position[static_cast<std::size_t>(e)] * static_cast<std::int64_t>(sizeof(T)),
                      from + e * static_cast<std::int64_t>(sizeof(T)), sizeof(T));
      });
    }
  });
  if (all_dense) {
    part.strides = row_major_strides(part.ranges);
    if (format.num_batch_levels() > 0)
      part.values_batch_stride = part.strides[static_cast<std::size_t>(format.num_batch_levels() - 1)];
  }
  return part;
}

bool all_coordinates_fit(const Level& level, int index, const LevelRange& r, DType dtype) {
  const std::string name(name_of(dtype));
  if (r.lo < 0 && is_unsigned_int(dtype))
    storage::fail(level, index, "coordinates start below zero", "a signed crd dtype", name);
  if (level.kind == LevelKind::padded) {
    if (r.lo < 0)
      storage::fail(level, index, "padded levels mark unused slots by all ones, which is -1", "coordinates from 0 on",
                    "from " + std::to_string(r.lo));
    if (is_unsigned_int(dtype) && dtype != DType::u64 && r.size > all_ones(dtype))
      storage::fail(level, index, "the mark of unused slots, all ones, would also be a coordinate", "a wider crd dtype",
                    name);
  }
  const std::int64_t high = index_max(dtype), low = is_signed_int(dtype) ? -high - 1 : 0;
  return r.lo >= low && (r.size == 0 || r.lo <= high - (r.size - 1));
}

void coordinate_does_not_fit(const Level& level, int index, std::int64_t c, DType dtype) {
  const std::int64_t high = index_max(dtype), low = is_signed_int(dtype) ? -high - 1 : 0;
  storage::fail(level, index, "a coordinate does not fit in " + std::string(name_of(dtype)),
                std::to_string(low) + " to " + std::to_string(high), std::to_string(c), "ask for a wider crd dtype");
}

void position_does_not_fit(const Level& level, int index, std::int64_t entry, DType dtype) {
  storage::fail(level, index, "a position does not fit in " + std::string(name_of(dtype)),
                "at most " + std::to_string(index_max(dtype)), std::to_string(entry), "ask for a wider pos dtype");
}

void narrow_positions(std::vector<Part>& parts, DType dtype) {
  if (dtype == DType::i64) return;
  const std::int64_t most = index_max(dtype);
  for (Part& p : parts)
    for (std::size_t l = 0; l < p.levels.size(); ++l) {
      Buffer& pos = p.levels[l].pos;
      if (!storage::has_pos(p.format.level(static_cast<int>(l)).kind))
        continue;  // without batches it is there, and empty
      for (std::int64_t entry : pos.as<std::int64_t>())
        if (entry > most) position_does_not_fit(p.format.level(static_cast<int>(l)), static_cast<int>(l), entry, dtype);
      pos = pos.cast(dtype);
    }
}

}  // namespace strata::conversion
