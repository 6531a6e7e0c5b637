// Tensors from the caller's arrays: borrowed wherever their form allows it, packed where the format packs.
#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <numeric>

#include "backend/backend.h"
#include "backend/steps.h"
#include "format/recognise.h"
#include "tensor/row_major.h"

namespace strata {

namespace {

/// f(d, stride) for each dimension of memory that lies row by row, the last one first.
template <class Size, class F> void each_stride(std::size_t rank, const Size& size, const F& f) {
  std::int64_t next = 1;
  for (std::size_t d = rank; d-- > 0;) {
    f(d, next);
    const auto product = checked_mul(next, std::max<std::int64_t>(1, size(d)));
    if (!product)
      throw TensorError({.what = "a dense tensor of more elements than 64 bits count", .expected = {}, .got = {}});
    next = *product;
  }
}

}  // namespace

std::vector<std::int64_t> row_major_strides(std::span<const LevelRange> ranges) {
  std::vector<std::int64_t> strides(ranges.size());
  each_stride(
      ranges.size(), [&](std::size_t l) { return ranges[l].size; },
      [&](std::size_t l, std::int64_t stride) { strides[l] = stride; });
  return strides;
}

std::vector<std::int64_t> row_major_strides(std::span<const std::int64_t> shape) {
  std::vector<std::int64_t> strides(shape.size());
  each_stride(
      shape.size(), [&](std::size_t d) { return shape[d]; },
      [&](std::size_t d, std::int64_t stride) { strides[d] = stride; });
  return strides;
}

Tensor empty_dense(DType dtype, const Shape& shape) {
  return borrow_dense(backend().allocate(dtype, checked_product(shape).value_or(INT64_MAX)), shape,
                      row_major_strides(shape));
}

bool is_row_major(const Tensor& t) {
  const Format& f = t.format();
  if (t.num_parts() != 1 || !f.is_all_dense() || f.num_levels() != t.rank()) return false;
  for (int l = 0; l < t.rank(); ++l)
    if (plain_dim(f, l) != l) return false;
  return t.part().strides == row_major_strides(t.shape());
}

std::vector<TensorType::Stride> stride_record(std::span<const LevelRange> ranges,
                                              std::span<const std::int64_t> strides) {
  bool plain = ranges.size() == strides.size();
  each_stride(
      ranges.size(), [&](std::size_t l) { return ranges[l].size; },
      [&](std::size_t l, std::int64_t stride) { plain = plain && strides[l] == stride; });
  if (plain) return {};
  std::vector<TensorType::Stride> record;
  for (auto s : strides)
    record.push_back(s == 1   ? TensorType::Stride::unit
                     : s == 0 ? TensorType::Stride::broadcast
                              : TensorType::Stride::general);
  return record;
}

namespace {

const char* const array_names[2] = {"pos", "crd"};

/// Brings the given arrays of one kind to one index dtype.
DType unify_dtypes(std::map<int, Buffer>& arrays, const char* what) {
  std::optional<DType> dtype;
  bool mixed = false;
  for (auto& [level, b] : arrays) {
    if (!is_index(b.dtype))
      throw DTypeError({.what = std::string(what) + " of level " + std::to_string(level) + " must hold integers",
                        .expected = "int8 to int64 or uint8 to uint64",
                        .got = std::string(name_of(b.dtype))});
    mixed |= dtype && *dtype != b.dtype;
    dtype = b.dtype;
  }
  if (mixed) {
    dtype = DType::i64;
    for (auto& [level, b] : arrays)
      if (b.dtype != DType::i64) b = b.cast(DType::i64);
  }
  return dtype.value_or(DType::i32);
}

/// uint64 is read as int64: what does not fit is refused under the number that was given, but for the mark of an unused
/// slot.
void refuse_beyond_int64(const Format& format, const std::map<int, Buffer>& arrays, const char* what) {
  for (const auto& [level, b] : arrays) {
    if (b.dtype != DType::u64 || level < 0 || level >= format.num_levels()) continue;
    const bool padded = format.level(level).kind == LevelKind::padded;
    for (std::int64_t k = 0; k < b.size; ++k) {
      poll_at(k + 1);
      if (const std::int64_t x = b.index(k); x < 0 && !(padded && x == -1))
        storage::fail(format.level(level), level, std::string(what) + " holds what 63 bits do not: out of range",
                      what + std::string("[") + std::to_string(k) + "] below 2^63",
                      std::to_string(static_cast<std::uint64_t>(x)));
    }
  }
}

/// all ones of a narrow unsigned dtype must stay the mark when mixed dtypes are widened.
void widen_marks(const Format& format, std::map<int, Buffer>& crd) {
  bool mixed = false;
  for (auto& [level, b] : crd) mixed |= b.dtype != crd.begin()->second.dtype;
  if (!mixed) return;
  for (auto& [level, b] : crd) {
    if (level >= format.num_levels() || format.level(level).kind != LevelKind::padded || !is_index(b.dtype) ||
        !is_unsigned_int(b.dtype))
      continue;
    const std::int64_t mark = all_ones(b.dtype);
    Buffer wide = Buffer::allocate(DType::i64, b.size);
    for (std::int64_t i = 0; i < b.size; ++i) wide.set_index(i, b.index(i) == mark ? -1 : b.index(i));
    b = std::move(wide);
  }
}

class Maker {
 public:
  Maker(const Format& format, const Shape& shape, RawArrays& arrays) : format_(format), arrays_(arrays) {
    part_.format = format;
    part_.ranges = format.level_ranges(shape);
    const auto levels = static_cast<std::size_t>(format.num_levels());
    part_.levels.resize(levels);
    part_.pos_strides.assign(levels, 0);
    part_.crd_strides.assign(levels, 0);
    part_.values = arrays.values;
    part_.num_batches = 1;
    for (int l = 0; l < format.num_batch_levels(); ++l) {
      const auto n = checked_mul(part_.num_batches, part_.ranges[static_cast<std::size_t>(l)].size);
      if (!n) throw TensorError({.what = "more batches than 64 bits count", .expected = {}, .got = {}});
      part_.num_batches = *n;
    }
  }

  Part make() {
    for (int which = 0; which < 2; ++which) require_arrays(which);
    if (format_.is_all_dense()) return dense();
    part_.value_stride = arrays_.value_stride;
    if (part_.value_stride < 0)
      throw TensorError(
          {.what = "a negative stride of values", .expected = "0 or more", .got = std::to_string(part_.value_stride)});
    if (!arrays_.strides.empty() || arrays_.values_offset != 0)
      throw TensorError(
          {.what = "strides per level are for all-dense formats", .expected = "none", .got = format_.to_string()});
    const bool batched = batch_levels(part_) > 0;
    for (int l = 0; l < format_.num_levels(); ++l) {
      const auto i = static_cast<std::size_t>(l);
      if (storage::has_pos(format_.level(l).kind)) {
        part_.levels[i].pos = arrays_.pos.at(l);
        if (batched) part_.pos_strides[i] = per_batch(part_.levels[i].pos, l, "pos");
      }
      if (storage::has_crd(format_.level(l).kind)) {
        part_.levels[i].crd = arrays_.crd.at(l);
        if (batched) part_.crd_strides[i] = per_batch(part_.levels[i].crd, l, "crd");
      }
    }
    if (batched) {
      if (part_.num_batches > 0 && part_.value_stride != 0 && part_.values.size % part_.num_batches != 0)
        throw TensorError({.what = "values do not divide into batches",
                           .expected = "a multiple of " + std::to_string(part_.num_batches),
                           .got = std::to_string(part_.values.size)});
      part_.values_batch_stride =
          part_.num_batches > 0 && part_.value_stride != 0 ? part_.values.size / part_.num_batches : 0;
    }
    for (int l = 0; l < format_.num_levels(); ++l) {
      const Level& level = format_.level(l);
      if (level.kind == LevelKind::bitmap || packed_bits(level, part_.ranges[static_cast<std::size_t>(l)].size))
        pack(l);
    }
    require_capacity();
    return std::move(part_);
  }

 private:
  void require_arrays(int which) {
    auto& given = which == 0 ? arrays_.pos : arrays_.crd;
    const auto has = which == 0 ? storage::has_pos : storage::has_crd;
    for (auto& [l, b] : given) {
      if (l < 0 || l >= format_.num_levels())
        throw TensorError({.what = std::string(array_names[which]) + " of a level that the format does not have",
                           .expected = "levels 0 to " + std::to_string(format_.num_levels() - 1),
                           .got = std::to_string(l)});
      if (!has(format_.level(l).kind))
        storage::fail(format_.level(l), l, std::string("has no ") + array_names[which], "none",
                      "an array of " + std::to_string(b.size));
    }
    for (int l = 0; l < format_.num_levels(); ++l) {
      if (!has(format_.level(l).kind) || given.count(l)) continue;
      // The first level's pos can only be [0, n].
      if (which == 0 && l == 0 && format_.level(0).kind == LevelKind::compressed && arrays_.crd.count(0)) {
        const std::int64_t n = arrays_.crd.at(0).size;
        DType dtype = DType::i32;
        for (auto& [k, b] : given) dtype = b.dtype;
        if (given.empty()) dtype = index_dtype_for(n);
        if (n > index_max(dtype)) dtype = DType::i64;
        Buffer pos = Buffer::allocate(dtype, 2);
        pos.set_index(0, 0);
        pos.set_index(1, n);
        given[0] = pos;
        continue;
      }
      storage::fail(format_.level(l), l, std::string(array_names[which]) + " is missing", "an array of integers",
                    "none");
    }
  }

  std::int64_t per_batch(const Buffer& b, int l, const char* what) const {
    if (part_.num_batches == 0) return 0;
    if (b.size % part_.num_batches != 0)
      storage::fail(format_.level(l), l, std::string(what) + " does not divide into batches",
                    "a multiple of " + std::to_string(part_.num_batches), std::to_string(b.size));
    return b.size / part_.num_batches;
  }

  Part dense() {
    const auto plain = row_major_strides(part_.ranges);
    if (!arrays_.strides.empty() && arrays_.strides.size() != part_.ranges.size())
      throw TensorError({.what = "one stride per level is needed",
                         .expected = std::to_string(part_.ranges.size()),
                         .got = std::to_string(arrays_.strides.size())});
    part_.strides = arrays_.strides.empty() ? plain : arrays_.strides;
    part_.values_offset = arrays_.values_offset;
    if (arrays_.value_stride == 0 && arrays_.strides.empty()) std::fill(part_.strides.begin(), part_.strides.end(), 0);
    for (std::size_t l = 0; l < part_.ranges.size(); ++l)
      if (part_.ranges[l].size <= 1) part_.strides[l] = plain[l];
    const int nb = format_.num_batch_levels();
    if (nb > 0) part_.values_batch_stride = part_.strides[static_cast<std::size_t>(nb - 1)];
    return std::move(part_);
  }

  /// Replaces a level's unpacked coordinates by the packed ones, batch by batch, each batch at a 64-bit word.
  void pack(int l) {
    const auto i = static_cast<std::size_t>(l);
    const Level level = format_.level(l);
    const LevelRange range = part_.ranges[i];
    const int bits = packed_bits(level, range.size);
    const bool bitmap = level.kind == LevelKind::bitmap;
    if (level.kind == LevelKind::structured && level.arg > range.size)
      storage::fail(level, l, "more slots than coordinates", "at most " + std::to_string(range.size),
                    std::to_string(level.arg));
    std::vector<Buffer> packed;
    std::int64_t longest = 0;
    check_batches(part_);
    for (std::int64_t b = 0; b < batches(part_); ++b) {
      poll_at(b + 1);
      auto views = level_views(part_, b);
      // What stands above decides how much of pos is in use: it must hold before it can be followed.
      std::vector<std::int64_t> counts(views.size() + 1, 1);
      for (std::size_t k = static_cast<std::size_t>(batch_levels(part_)); k < i; ++k)
        counts[k + 1] = storage::storage_of(views[k].level.kind).check({views, counts, static_cast<int>(k)});
      auto& v = views[i];
      const std::int64_t parents = counts[i];
      std::int64_t entries = 0;
      if (storage::has_pos(level.kind)) entries = storage::check_pos(v, parents, v.crd.size);
      else if (const auto n = storage::checked_positions(v, parents); n <= v.crd.size) entries = n;
      else storage::fail(v, "crd is too short", std::to_string(n) + " entries", std::to_string(v.crd.size));
      Buffer out;
      if (bitmap) {
        const auto words = checked_mul(parents, bitmap_words(range.size));
        if (!words) storage::fail(v, "more words of bits than 64 bits count");
        storage::require_memory(*words, 8);
        out = Buffer::zeros(DType::u64, *words);
        auto* w = static_cast<std::uint64_t*>(out.data);
        for (std::int64_t p = 0; p < parents; ++p) {
          std::int64_t before = range.lo - 1;
          for (std::int64_t q = v.pos[p]; q < v.pos[p + 1]; ++q) {
            const std::int64_t c = v.crd[q];
            if (storage::outside(range, c))
              storage::fail(v, "coordinate out of range",
                            "crd[" + std::to_string(q) + "] in [" + std::to_string(range.lo) + ", " +
                                std::to_string(range.lo + range.size) + ")",
                            std::to_string(c));
            if (c <= before)
              storage::fail(v, "coordinates do not ascend below parent position " + std::to_string(p), {},
                            "crd[" + std::to_string(q) + "] = " + std::to_string(c),
                            "sort them: a bitmap has no other order");
            before = c;
            w[p * bitmap_words(range.size) + (c - range.lo) / 64] |= std::uint64_t{1} << ((c - range.lo) % 64);
          }
        }
      } else {
        out = storage::allocate_crd(level, range.size, DType::u8, entries);
        const std::int64_t limit = bits >= 63 ? INT64_MAX : (std::int64_t{1} << bits) - 1;
        for (std::int64_t q = 0; q < entries; ++q) {
          const std::int64_t c = v.crd[q];
          if (c < 0 || c > limit)
            storage::fail(v, "coordinate does not fit in " + std::to_string(bits) + " bits",
                          "crd[" + std::to_string(q) + "] in [0, " + std::to_string(limit) + "]", std::to_string(c));
          pack_one(static_cast<char*>(out.data), q, bits, c);
        }
      }
      longest = std::max(longest, out.size);
      packed.push_back(std::move(out));
    }
    if (packed.size() == 1 && batch_levels(part_) == 0) {
      part_.levels[i].crd = std::move(packed[0]);
      return;
    }
    if (!bitmap) longest = ceil_div(longest, 8) * 8;
    Buffer all = Buffer::zeros(bitmap ? DType::u64 : DType::u8, longest * static_cast<std::int64_t>(packed.size()));
    for (std::size_t b = 0; b < packed.size(); ++b)
      std::memcpy(static_cast<char*>(all.data) + static_cast<std::int64_t>(b) * longest * (bitmap ? 8 : 1),
                  packed[b].data, static_cast<std::size_t>(packed[b].bytes()));
    part_.levels[i].crd = std::move(all);
    part_.crd_strides[i] = longest;
  }

  /// Arrays that end together may be longer than their use; ones that do not are a mistake.
  void require_capacity() const {
    const int last = format_.num_levels() - 1;
    if (batch_levels(part_) > 0 || part_.value_stride != 1) return;
    const Level& level = format_.level(last);
    if (level.kind != LevelKind::compressed && level.kind != LevelKind::singleton && level.kind != LevelKind::padded)
      return;
    const std::int64_t crd = part_.levels[static_cast<std::size_t>(last)].crd.size;
    if (crd != part_.values.size)
      storage::fail(level, last, "crd and values differ in length", std::to_string(crd) + " values",
                    std::to_string(part_.values.size));
  }

  const Format& format_;
  RawArrays& arrays_;
  Part part_;
};

/// A pos longer than the shape asks for has been made for another shape. Below a level with spare capacity it may be as
/// long as that capacity asks for.
void check_pos_lengths(const Part& part) {
  std::optional<std::int64_t> parents = 1;
  for (int l = batch_levels(part); l < part.format.num_levels() && parents; ++l) {
    const auto i = static_cast<std::size_t>(l);
    const LevelKind kind = part.format.level(l).kind;
    if (storage::has_pos(kind)) {
      const std::int64_t size = batch_levels(part) > 0 ? part.pos_strides[i] : part.levels[i].pos.size;
      if (size - 1 > *parents && (batch_levels(part) == 0 || part.num_batches > 0))
        storage::fail(part.format.level(l), l, "pos is too long", std::to_string(*parents) + " + 1 entries",
                      std::to_string(size));
      if (kind != LevelKind::compressed) return;  // how much room a packed crd has is not known to the entry
      parents = batch_levels(part) > 0 ? part.crd_strides[i] : part.levels[i].crd.size;
      continue;
    }
    if (kind == LevelKind::singleton) continue;
    parents = checked_mul(*parents, storage::width_of(part.format.level(l), part.ranges[i]));
  }
}

void require_address(const Buffer& values) {
  if (values.size > 0 && !values.data)
    throw TensorError({.what = "values without memory",
                       .expected = "an address",
                       .got = "null, of " + std::to_string(values.size) + " elements"});
}

}  // namespace

Tensor make_tensor(const Format& format, const Shape& shape, RawArrays arrays, std::optional<Scalar> fill, bool check) {
  if (format.num_parts() != 1)
    throw TensorError({.what = "raw arrays describe one part",
                       .expected = "a format without +",
                       .got = format.to_string(),
                       .fix = "make each part and join them by make_sum"});
  check_shape(format, shape);
  require_address(arrays.values);
  if (check) {
    refuse_beyond_int64(format, arrays.pos, "pos");
    refuse_beyond_int64(format, arrays.crd, "crd");
  }
  for (const auto& [level, b] : arrays.crd)
    if (level >= 0 && level < format.num_levels() && format.level(level).kind == LevelKind::padded &&
        format.level(level).arg == 0 && b.size > 0)
      storage::fail(format.level(level), level, "only a conversion finds the number of slots by itself",
                    "padded(n): every parent has n slots", "padded, and " + std::to_string(b.size) + " coordinates",
                    "say how many, e.g. ELL(4)");
  widen_marks(format, arrays.crd);
  TensorType type;
  type.pos_dtype = unify_dtypes(arrays.pos, "pos");
  type.crd_dtype = unify_dtypes(arrays.crd, "crd");
  Part part = Maker(format, shape, arrays).make();
  for (const LevelArrays& level : part.levels)  // a pos made here
    if (level.pos.size > 0) type.pos_dtype = level.pos.dtype;
  type.format = format;
  type.shape = shape;
  type.dtype = part.values.dtype;
  type.fill = fill ? fill->as(type.dtype) : Scalar::zero(type.dtype);
  type.device = part.values.device;
  if (format.is_all_dense()) type.strides = stride_record(part.ranges, part.strides);
  else type.shared_value = part.value_stride == 0;
  if (check) {
    check_pos_lengths(part);
    check_part(part, shape, type.dtype);
  }
  std::vector<Part> parts;
  parts.push_back(std::move(part));
  return make_from_parts(std::move(type), std::move(parts));
}

Format dense_format(const std::vector<int>& order) {
  const auto make = [](const std::vector<int>& dims) {
    const std::size_t rank = dims.size();
    const auto name = [rank](int d) { return rank <= 8 ? std::string(1, "ijklmnop"[d]) : "d" + std::to_string(d); };
    std::string text = "(";
    for (std::size_t d = 0; d < rank; ++d) text += (d ? ", " : "") + name(static_cast<int>(d));
    text += ") -> (";
    for (std::size_t l = 0; l < rank; ++l) text += (l ? ", " : "") + name(dims[l]) + " : dense";
    return parse_format(text + ")");
  };
  constexpr std::size_t shared_rank = 4;
  if (order.size() > shared_rank) return make(order);
  static const auto shared = [&] {
    std::vector<std::pair<std::vector<int>, Format>> all;
    for (std::size_t rank = 0; rank <= shared_rank; ++rank) {
      std::vector<int> dims(rank);
      std::iota(dims.begin(), dims.end(), 0);
      do all.emplace_back(dims, make(dims));
      while (std::next_permutation(dims.begin(), dims.end()));
    }
    return all;
  }();
  for (const auto& [dims, format] : shared)
    if (dims == order) return format;
  return make(order);
}

Tensor borrow_dense(Buffer data, const Shape& shape, std::span<const std::int64_t> strides, std::int64_t offset) {
  if (strides.size() != shape.size())
    throw TensorError({.what = "one stride per dimension is needed",
                       .expected = std::to_string(shape.size()),
                       .got = std::to_string(strides.size())});
  const auto rank = shape.size();
  const auto extent = [&](int d) { return shape[static_cast<std::size_t>(d)]; };
  const auto stride = [&](int d) { return strides[static_cast<std::size_t>(d)]; };
  // Falling strides give the order of levels. Axes of size 1 have no stride of their own and stay where they are, so
  // that (3, 1) is row-major; ties keep the order of the dimensions.
  std::vector<int> order(rank), real;  // real: axes with more than one element, in storage order
  std::iota(order.begin(), order.end(), 0);
  std::copy_if(order.begin(), order.end(), std::back_inserter(real), [&](int d) { return extent(d) > 1; });
  const auto farther = [&](int a, int b) {
    return std::abs(stride(a)) != std::abs(stride(b)) ? std::abs(stride(a)) > std::abs(stride(b)) : a < b;
  };
  if (std::find(shape.begin(), shape.end(), 0) == shape.end()) std::sort(real.begin(), real.end(), farther);
  std::size_t next = 0;
  for (auto& d : order)
    if (extent(d) > 1) d = real[next++];

  // As make_tensor does it, without looking for what dense levels do not have: this is most of what a small product
  // costs.
  TensorType type;
  type.format = dense_format(order);
  check_shape(type.format, shape);
  require_address(data);
  type.shape = shape;
  type.dtype = data.dtype;
  type.fill = Scalar::zero(data.dtype);
  type.device = data.device;
  Part part;
  part.format = type.format;
  part.levels.resize(rank);
  part.pos_strides.assign(rank, 0);
  part.crd_strides.assign(rank, 0);
  for (int d : order) part.ranges.push_back({0, extent(d)});
  part.strides = row_major_strides(part.ranges);
  bool plain = true;
  for (std::size_t l = 0; l < rank; ++l)
    if (extent(order[l]) > 1 && part.strides[l] != stride(order[l])) {
      plain = false;
      part.strides[l] = stride(order[l]);
    }
  part.values = std::move(data);
  part.values_offset = offset;
  check_dense(part, type.dtype);
  if (!plain) type.strides = stride_record(part.ranges, part.strides);
  std::vector<Part> parts;
  parts.push_back(std::move(part));
  return make_from_parts(std::move(type), std::move(parts));
}

}  // namespace strata
