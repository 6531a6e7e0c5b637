// A whole target from a stream of elements, and the stream of a tensor's own.
#include <algorithm>
#include <cstring>
#include <numeric>

#include "backend/steps.h"
#include "convert/convert_elements.h"
#include "convert/fast/fast.h"
#include "strata/settings.h"
#include "tensor/values.h"

namespace strata::conversion {

Format with_argument(const Format& format, int level, std::int64_t arg) {
  FormatSpec spec = format.spec();
  spec.levels[static_cast<std::size_t>(spec.parts[0].first_level + level)].arg = arg;
  return Format(spec);
}

Format join(std::span<const Format> parts) {
  if (parts.size() == 1) return parts[0];
  std::string text;
  for (const Format& p : parts) text += (text.empty() ? "" : " + ") + p.to_string();
  return parse_format(text);
}

Format levels_in_order(std::span<const int> dims, bool dense_top, std::size_t dense_tail) {
  std::vector<std::string> names;
  for (std::size_t d = 0; d < dims.size(); ++d) names.push_back("d" + std::to_string(d));
  FormatBuilder b(names);
  for (std::size_t l = 0; l < dims.size(); ++l)
    b.level(b.dim(dims[l]),
            Level{.kind = (l == 0 && dense_top) || l + dense_tail >= dims.size() ? LevelKind::dense
                                                                                 : LevelKind::compressed});
  return b.build();
}

bool takes_any(const Format& f) {
  if (f.num_parts() != 1) return false;
  for (const Level& l : f.levels())
    if (l.kind == LevelKind::structured || (l.kind == LevelKind::padded && l.arg != 0) || l.kind == LevelKind::batch)
      return false;
  return true;
}

Format dense_format(int rank) {
  std::vector<int> order(static_cast<std::size_t>(rank));
  std::iota(order.begin(), order.end(), 0);
  return strata::dense_format(order);
}

DType automatic_crd_dtype(const Format& format, const Shape& shape) {
  std::int64_t largest = 0;
  for (auto e : shape) largest = std::max(largest, e);
  for (int k = 0; k < format.num_parts(); ++k) {
    const Format part = format.part(k);
    const auto ranges = part.level_ranges(shape);
    for (std::size_t l = 0; l < ranges.size(); ++l) {
      const Level& level = part.level(static_cast<int>(l));
      if (!storage::has_crd(level.kind) || packed_bits(level, ranges[l].size)) continue;
      if (levels::is_registered(level.kind)) continue;
      // No sum that could wrap: a range ends within 64 bits, as its check says.
      largest = std::max({largest, -ranges[l].lo, ranges[l].lo + std::max<std::int64_t>(ranges[l].size, 1) - 1});
    }
  }
  return index_dtype_for(largest);
}

namespace {

/// Which slots of a part.
enum class SlotSelection : std::uint8_t { all, without_fill, fill_alone };

/// In-range slots of a part, or those that say more, or no more, than the fill.
void emit_slots(const Tensor& t, const Part& part, SlotSelection which, bool exact, std::span<const LevelRange> box,
                const Sink& sink) {
  const auto width = size_of(t.dtype());
  std::vector<std::vector<std::int64_t>> kept(static_cast<std::size_t>(t.rank()),
                                              std::vector<std::int64_t>(storage::Children::capacity));
  std::vector<const std::int64_t*> dims(static_cast<std::size_t>(t.rank()));
  std::vector<char> values(storage::Children::capacity * width);
  std::vector<int> index(storage::Children::capacity);
  const auto emit = [&](const SlotChunk& c) {
    const auto all = static_cast<std::size_t>(c.n);
    with_width(width, [&]<class T>(T) {
      const char* from = static_cast<const char*>(part.values.data);
      const auto load = [&](std::size_t i) {
        return load_as<T>(from + c.slot[i] * static_cast<std::int64_t>(sizeof(T)));
      };
      if (which == SlotSelection::all) {
        for (std::size_t i = 0; i < all; ++i) {
          const T x = load(i);
          std::memcpy(values.data() + i * sizeof(T), &x, sizeof(T));
        }
        sink({c.n, c.dims, values.data()});
        return;
      }
      const IsFill<T> is_fill(t.fill(), exact);
      const bool wanted = which == SlotSelection::fill_alone;
      std::size_t n = 0;
      for (std::size_t i = 0; i < all; ++i) {
        const T x = load(i);
        std::memcpy(values.data() + n * sizeof(T), &x, sizeof(T));
        index[n] = static_cast<int>(i);
        n += is_fill(x) == wanted;
      }
      if (n == 0) return;
      for (std::size_t d = 0; d < dims.size(); ++d) {
        if (n == all) {
          dims[d] = c.dims[d];
          continue;
        }
        for (std::size_t i = 0; i < n; ++i) kept[d][i] = c.dims[d][index[i]];
        dims[d] = kept[d].data();
      }
      sink({static_cast<int>(n), dims.data(), values.data()});
    });
  };
  walk_slots(part, t.shape(), emit, box);
}

/// -1, 0, 1: where an element of one sorted list stands beside that of another.
int compare(const Elements& a, std::int64_t i, const Elements& b, std::int64_t k) {
  for (std::size_t l = 0; l < a.ranges().size(); ++l)
    if (const auto x = a.coordinate(l, i), y = b.coordinate(l, k); x != y) return x < y ? -1 : 1;
  return 0;
}

/// All that a sum of parts stores around a fill that is not 0: fill-in stands for nothing where another part stores
/// something, and would be added to that.
ElementSource elements_of_sum(const Tensor& t) {
  const auto emit = [t](const Sink& sink) {
    const Format dense = dense_format(t.rank());
    Elements stored(dense, t.shape(), t.dtype()), filled(dense, t.shape(), t.dtype());
    for (int k = 0; k < t.num_parts(); ++k) {
      const Part& part = t.part(k);
      const bool holds = part.format.can_hold_fill();
      emit_slots(t, part, holds ? SlotSelection::without_fill : SlotSelection::all, true, {},
                 [&](const ElementChunk& chunk) { stored.append(chunk); });
      if (holds)
        emit_slots(t, part, SlotSelection::fill_alone, true, {},
                   [&](const ElementChunk& chunk) { filled.append(chunk); });
    }
    stored.sort_and_combine(), filled.sort_and_combine();
    std::vector<std::int64_t> at(t.shape().size());
    std::vector<const std::int64_t*> dims;
    for (const auto& c : at) dims.push_back(&c);
    const auto send = [&](const Elements& from, std::int64_t e, const void* value) {
      for (std::size_t d = 0; d < at.size(); ++d) at[d] = from.coordinate(d, e);
      sink({1, dims.data(), static_cast<const char*>(value)});
    };
    std::int64_t next = 0;
    for (std::int64_t e = 0; e < filled.size(); ++e) {
      poll_at(e + 1);
      int beside = 1;
      for (; next < stored.size() && (beside = compare(stored, next, filled, e)) < 0; ++next)
        send(stored, next, stored.values() + static_cast<std::size_t>(next) * stored.width());
      if (next == stored.size() || beside > 0) send(filled, e, t.fill().bits);
    }
    for (; next < stored.size(); ++next)
      send(stored, next, stored.values() + static_cast<std::size_t>(next) * stored.width());
  };
  return {emit, 0};
}

}  // namespace

ElementSource stored_elements(const Tensor& t, Zeros zeros, std::vector<LevelRange> box) {
  std::int64_t slots = 0;
  bool drops = false, fills = false;
  for (int k = 0; k < t.num_parts(); ++k) {
    fills |= t.part(k).format.can_hold_fill();
    drops |= zeros != Zeros::keep && t.part(k).format.can_hold_fill();
    std::int64_t n = used_values(t.part(k));
    if (n > t.part(k).values.size) {  // values are shared: there may be more elements than memory holds
      n = count_slots(t.part(k), t.shape());
      storage::require_memory(n, static_cast<std::int64_t>(sizeof(std::uint64_t) + size_of(t.dtype())));
    }
    slots += std::min(n, INT64_MAX - slots);
  }
  if (zeros == Zeros::keep && t.num_parts() > 1 && fills && !t.fill().is_zero()) return elements_of_sum(t);
  const auto emit = [t, zeros, box = std::move(box)](const Sink& sink) {
    for (int k = 0; k < t.num_parts(); ++k) {
      const Part& part = t.part(k);
      const bool drop = zeros != Zeros::keep && part.format.can_hold_fill();
      emit_slots(t, part, drop ? SlotSelection::without_fill : SlotSelection::all, zeros == Zeros::exact, box, sink);
    }
  };
  // Most slots of blocks and bridges stay; dense tensors may hold mostly zeros, and memory that is not touched costs
  // nothing.
  return {emit, drops ? std::min<std::int64_t>(slots, 1 << 24) : slots};
}

namespace {

/// Elements of one sorted list, sent to the lists of the parts.
void distribute(const Elements& all, const PodArray<std::uint8_t>& where, std::vector<Elements>& parts) {
  for (std::size_t p = 0; p < parts.size(); ++p)
    parts[p].reserve(std::count(where.begin(), where.end(), static_cast<std::uint8_t>(p)));
  constexpr std::int64_t step = 1024;
  const std::size_t rank = all.ranges().size(), width = all.width();
  std::vector<std::vector<std::int64_t>> columns(rank, std::vector<std::int64_t>(step)),
      kept(rank, std::vector<std::int64_t>(step));
  std::vector<const std::int64_t*> dims(rank);
  std::vector<char> values(static_cast<std::size_t>(step) * width);
  for (std::int64_t begin = 0; begin < all.size(); begin += step) {
    poll_at(begin);
    const auto n = static_cast<std::size_t>(std::min(step, all.size() - begin));
    for (std::size_t d = 0; d < rank; ++d)
      all.column(d, begin, begin + static_cast<std::int64_t>(n), columns[d].data());
    for (std::size_t p = 0; p < parts.size(); ++p) {
      int count = 0;
      for (std::size_t i = 0; i < n; ++i) {
        if (where[static_cast<std::size_t>(begin) + i] != p) continue;
        for (std::size_t d = 0; d < rank; ++d) kept[d][static_cast<std::size_t>(count)] = columns[d][i];
        std::memcpy(values.data() + static_cast<std::size_t>(count) * width,
                    all.values() + (static_cast<std::size_t>(begin) + i) * width, width);
        ++count;
      }
      for (std::size_t d = 0; d < rank; ++d) dims[d] = kept[d].data();
      parts[p].append({count, dims.data(), values.data()});
    }
  }
}

}  // namespace

namespace {

/// A part of `format` from elements in rows or columns, by the shortcut from there; pos in 64 bits, as build_part
/// leaves them.
Part build_from_rows(const Elements& elements, const Format& format, const ConversionTarget& target) {
  ConversionTarget rows{.format = elements.format(), .shape = target.shape, .fill = target.fill, .options = {}};
  const DType index =
      index_dtype_for(std::max(elements.size(), *std::max_element(target.shape.begin(), target.shape.end())));
  rows.crd_dtype = index;
  std::vector<Part> parts{build_part(elements, rows)};
  narrow_positions(parts, index);
  TensorType type;
  type.format = rows.format;
  type.shape = target.shape;
  type.dtype = elements.dtype();
  type.fill = target.fill;
  type.pos_dtype = type.crd_dtype = index;
  ConvertOptions options;
  options.pos_dtype = DType::i64;
  options.crd_dtype = target.crd_dtype;
  options.zeros = Zeros::keep;  // what was to be dropped is gone
  return convert(make_from_parts(std::move(type), std::move(parts)), format, options).part();
}

}  // namespace

Tensor assemble(const ElementSource& source, DType dtype, const Scalar& fill, const Shape& shape, const Format& format,
                const ConvertOptions& options) {
  check_shape(format, shape);
  for (const auto& asked : {options.pos_dtype, options.crd_dtype})
    if (asked && !is_index(*asked))
      throw DTypeError({.what = "positions and coordinates are integers",
                        .expected = "int8 to int64 or uint8 to uint64",
                        .got = std::string(name_of(*asked))});
  ConversionTarget target{.format = format, .shape = shape, .fill = as_fill(fill.as(dtype)), .options = options};
  target.crd_dtype = options.crd_dtype.value_or(automatic_crd_dtype(format, shape));

  std::vector<Part> parts;
  if (format.num_parts() == 1) {
    DimensionMap(format, format.level_ranges(shape), shape);  // refuses sizes that do not combine
    Elements elements(format, shape, dtype);
    elements.reserve(source.at_most);
    source.emit([&](const ElementChunk& chunk) { elements.append(chunk); });
    elements.sort_and_combine();
    parts.push_back(build_part(elements, target));
  } else {
    Elements all(dense_format(format.rank()), shape, dtype);
    all.reserve(source.at_most);
    source.emit([&](const ElementChunk& chunk) { all.append(chunk); });
    all.sort_and_combine();
    std::vector<Format> formats;
    for (int k = 0; k < format.num_parts(); ++k) {
      formats.push_back(format.part(k));
      DimensionMap(formats.back(), formats.back().level_ranges(shape), shape);
    }
    const auto where = split_elements(all, formats, target);
    std::vector<Elements> lists;
    std::vector<char> by_rows;
    for (const Format& f : formats) {
      const auto before = f.rank() == 2 ? fast::rows_before(f) : std::nullopt;
      by_rows.push_back(before.has_value());
      lists.emplace_back(before.value_or(f), shape, dtype);
    }
    distribute(all, where, lists);
    for (std::size_t k = 0; k < lists.size(); ++k) {
      lists[k].sort_and_combine();
      parts.push_back(by_rows[k] ? build_from_rows(lists[k], formats[k], target) : build_part(lists[k], target));
    }
  }

  TensorType type;
  type.shape = shape;
  type.dtype = options.dtype.value_or(dtype);
  type.fill = target.fill.as(type.dtype);
  std::int64_t nse = 0, most = 0;
  bool has_pos = false, has_crd = false;
  for (const Part& p : parts)
    for (const Level& level : p.format.levels())
      has_pos |= storage::has_pos(level.kind), has_crd |= storage::has_crd(level.kind);
  type.crd_dtype = has_crd ? target.crd_dtype : DType::i32;
  for (const Part& p : parts) {
    nse += count_slots(p, shape);
    for (const LevelArrays& a : p.levels)
      if (a.pos.size > 0)
        for (std::int64_t entry : a.pos.as<std::int64_t>()) most = std::max(most, entry);
  }
  type.pos_dtype = has_pos ? options.pos_dtype.value_or(index_dtype_for(std::max(nse, most))) : DType::i32;
  narrow_positions(parts, type.pos_dtype);
  std::vector<Format> formats;
  for (Part& p : parts) {
    formats.push_back(p.format);
    if (type.dtype != dtype) p.values = p.values.cast(type.dtype);
  }
  type.format = parts.size() == 1 ? parts[0].format : join(formats);
  return make_from_parts(std::move(type), std::move(parts));
}

}  // namespace strata::conversion
