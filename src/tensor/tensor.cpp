#include <algorithm>
#include <functional>

#include "backend/steps.h"
#include "strata/settings.h"
#include "tensor/tensor_impl.h"

namespace strata {

Tensor::Tensor() {
  static const Tensor zero = [] {
    RawArrays arrays;
    arrays.values = Buffer::zeros(DType::f64, 1);
    return make_tensor(Format(), {}, std::move(arrays));
  }();
  impl_ = zero.impl_;
}

const TensorType& Tensor::type() const { return impl_->type; }
int Tensor::num_parts() const { return static_cast<int>(impl_->parts.size()); }

const Part& Tensor::part(int k) const {
  if (k < 0 || k >= num_parts())
    throw IndexError(
        {.what = "no such part", .expected = "0 to " + std::to_string(num_parts() - 1), .got = std::to_string(k)});
  return impl_->parts[static_cast<std::size_t>(k)];
}

Tensor Tensor::part_tensor(int k) const {
  const Part& p = part(k);
  if (num_parts() == 1) return *this;
  TensorType t = type();
  t.format = p.format;
  t.strides = p.format.is_all_dense() ? stride_record(p.ranges, p.strides) : std::vector<TensorType::Stride>{};
  t.shared_value = !p.format.is_all_dense() && p.value_stride == 0;
  return make_from_parts(std::move(t), {p});
}

Tensor make_from_parts(TensorType type, std::vector<Part> parts) {
  if (static_cast<int>(parts.size()) != type.format.num_parts())
    throw InternalError("make_from_parts: " + std::to_string(parts.size()) + " parts for a format of " +
                        std::to_string(type.format.num_parts()));
  auto impl = std::make_shared<Tensor::Impl>();
  impl->type = std::move(type);
  impl->type.fill = as_fill(impl->type.fill);
  impl->parts = std::move(parts);
  return Tensor(std::shared_ptr<const Tensor::Impl>(std::move(impl)));
}

namespace {
/// Gives every slot of a part its own value: the type of a sum does not say which of its parts share one.
Part expand_shared(Part p, DType dtype) {
  if (p.format.is_all_dense() || p.value_stride != 0) return p;
  if (batch_levels(p) > 0)
    throw Unsupported({.what = "a batched part of a sum shares one value",
                       .expected = "a value for each slot",
                       .got = p.format.to_string()});
  return with_own_values(std::move(p), dtype);
}
}  // namespace

Part with_own_values(Part part, DType dtype) {
  const auto width = static_cast<std::int64_t>(size_of(dtype));
  Buffer all = Buffer::allocate(dtype, used_values(part));
  for (std::int64_t k = 0; k < all.size; ++k)
    std::memcpy(static_cast<char*>(all.data) + k * width,
                static_cast<const char*>(part.values.data) + k * part.value_stride * width,
                static_cast<std::size_t>(width));
  part.values = std::move(all);
  part.value_stride = 1;
  return part;
}

Tensor own_copy(const Tensor& t) {
  const auto copy = [](Buffer& b) {
    if (!b.data || b.size == 0) return;
    Buffer fresh = Buffer::allocate(b.dtype, b.size);
    copy_in_steps(fresh.data, b.data, b.bytes());
    b = std::move(fresh);
  };
  std::vector<Part> parts;
  for (int k = 0; k < t.num_parts(); ++k) {
    Part p = t.part(k);
    for (auto& level : p.levels) {
      copy(level.pos);
      copy(level.crd);
    }
    copy(p.values);
    parts.push_back(std::move(p));
  }
  return make_from_parts(t.type(), std::move(parts));
}

Tensor with_fill(const Tensor& t, const Scalar& fill) {
  if (t.fill().same_bits(fill)) return t;
  TensorType type = t.type();
  type.fill = fill;
  std::vector<Part> parts;
  for (int k = 0; k < t.num_parts(); ++k) parts.push_back(t.part(k));
  return make_from_parts(std::move(type), std::move(parts));
}

Tensor make_sum(std::span<const Tensor> parts) {
  if (parts.empty())
    throw TensorError({.what = "a sum without parts", .expected = "at least one tensor", .got = "none"});
  if (parts.size() == 1) return parts[0];
  const TensorType& first = parts[0].type();
  TensorType type = first;
  type.strides.clear();
  type.shared_value = false;
  std::vector<Part> all;
  std::string text;
  for (std::size_t k = 0; k < parts.size(); ++k) {
    const TensorType& t = parts[k].type();
    const auto differ = [&](const char* what, const std::string& expected, const std::string& got) {
      throw TensorError({.what = std::string("parts of a sum differ in ") + what,
                         .expected = expected,
                         .got = got + " in part " + std::to_string(k)});
    };
    if (t.shape != first.shape) differ("shape", "the shape of part 0", "another one");
    if (t.dtype != first.dtype) differ("dtype", std::string(name_of(first.dtype)), std::string(name_of(t.dtype)));
    if (!t.fill.same_bits(first.fill)) differ("fill", first.fill.to_string(), t.fill.to_string());
    if (t.device != first.device) differ("device", first.device.to_string(), t.device.to_string());
    for (int p = 0; p < parts[k].num_parts(); ++p) all.push_back(expand_shared(parts[k].part(p), first.dtype));
    text += (k ? " + " : "") + t.format.to_string();
  }
  type.format = parse_format(text);
  // Index dtypes of a sum are common to its parts: to those that store such arrays, otherwise to those that show them
  // unpacked.
  const auto unify = [&](DType TensorType::* which, Buffer LevelArrays::* array, bool (*has)(LevelKind)) {
    const auto stores = [&](const Part& p, std::size_t l) {
      const Level& level = p.format.level(static_cast<int>(l));
      const bool packed =
          array == &LevelArrays::crd && (level.kind == LevelKind::bitmap || packed_bits(level, p.ranges[l].size));
      return has(level.kind) && !packed;
    };
    std::optional<DType> stored, shown;
    bool mixed = false;
    for (const Tensor& t : parts)
      for (int k = 0; k < t.num_parts(); ++k)
        for (std::size_t l = 0; l < t.part(k).levels.size(); ++l) {
          const DType dtype = t.type().*which;
          if (has(t.part(k).format.level(static_cast<int>(l)).kind)) shown = shown.value_or(dtype);
          if (!stores(t.part(k), l)) continue;
          mixed |= stored && *stored != dtype;
          stored = dtype;
        }
    type.*which = mixed ? DType::i64 : stored ? *stored : shown.value_or(DType::i32);
    if (!mixed) return;
    for (Part& p : all)
      for (std::size_t l = 0; l < p.levels.size(); ++l) {
        if (!stores(p, l)) continue;
        const Level& level = p.format.level(static_cast<int>(l));
        Buffer& b = p.levels[l].*array;
        if (level.kind == LevelKind::padded) {  // all ones must stay all ones, whatever the width
          const std::int64_t unused = all_ones(b.dtype);
          Buffer wide = Buffer::allocate(DType::i64, b.size);
          for (std::int64_t i = 0; i < b.size; ++i) wide.set_index(i, b.index(i) == unused ? -1 : b.index(i));
          b = std::move(wide);
        } else if (b.dtype != DType::i64) {
          b = b.cast(DType::i64);
        }
      }
  };
  unify(&TensorType::pos_dtype, &LevelArrays::pos, storage::has_pos);
  unify(&TensorType::crd_dtype, &LevelArrays::crd, storage::has_crd);
  return make_from_parts(std::move(type), std::move(all));
}

DType index_dtype_for(std::int64_t largest) { return largest <= settings().int32_limit ? DType::i32 : DType::i64; }

std::optional<std::int64_t> Tensor::size() const { return checked_product(shape()); }

std::int64_t Tensor::nse() const {
  std::int64_t n = impl_->nse.load(std::memory_order_relaxed);
  if (n >= 0) return n;
  n = 0;
  for (const Part& p : impl_->parts) n += count_slots(p, shape());
  impl_->nse.store(n, std::memory_order_relaxed);
  return n;
}

std::int64_t Tensor::nbytes() const {
  std::int64_t total = 0;
  const auto width = static_cast<std::int64_t>(size_of(dtype()));
  for (const Part& p : impl_->parts) {
    if (p.format.is_all_dense()) {
      // Broadcast levels share their elements.
      std::int64_t n = 1;
      for (std::size_t l = 0; l < p.ranges.size(); ++l)
        if (p.strides[l] != 0 || p.ranges[l].size == 0) n *= p.ranges[l].size;
      total += n * width;
      continue;
    }
    for (std::int64_t b = 0; b < batches(p); ++b) {
      const auto views = level_views(p, b);
      const auto counts = level_counts(p, views);
      for (std::size_t l = 0; l < views.size(); ++l) {
        const auto& v = views[l];
        if (storage::has_pos(v.level.kind)) total += (counts[l] + 1) * static_cast<std::int64_t>(size_of(v.pos.dtype));
        if (v.level.kind == LevelKind::bitmap) total += counts[l] * bitmap_words(v.range.size) * 8;
        else if (v.bits) total += packed_bytes(counts[l + 1], v.bits);
        else if (storage::has_crd(v.level.kind))
          total += storage::crd_entries(v, counts[l], counts[l + 1]) * static_cast<std::int64_t>(size_of(v.crd.dtype));
      }
      total += (p.value_stride == 0 ? std::min<std::int64_t>(counts.back(), b == 0 ? 1 : 0) : counts.back()) * width;
    }
  }
  return total;
}

namespace {
const Part& single_part(const Tensor& t, const char* what) {
  if (t.num_parts() != 1)
    throw TensorError({.what = std::string("a sum of parts has no ") + what + " of its own",
                       .expected = "one part",
                       .got = std::to_string(t.num_parts()) + " parts",
                       .fix = "ask a part, as in t.parts[0]"});
  return t.part();
}
const Part& level_part(const Tensor& t, int level, const char* what, bool (*has)(LevelKind)) {
  const Part& p = single_part(t, what);
  if (level < 0 || level >= p.format.num_levels())
    throw IndexError({.what = "no such level",
                      .expected = "0 to " + std::to_string(p.format.num_levels() - 1),
                      .got = std::to_string(level)});
  if (!has(p.format.level(level).kind))
    throw TensorError(
        {.what = storage::level_name(p.format.level(level), level) + " has no " + what, .expected = {}, .got = {}});
  return p;
}
}  // namespace

Buffer Tensor::values() const { return single_part(*this, "values").values; }
Buffer Tensor::pos(int level) const {
  return level_part(*this, level, "pos", storage::has_pos).levels[static_cast<std::size_t>(level)].pos;
}

Buffer Tensor::crd(int level) const {
  const Part& p = level_part(*this, level, "crd", storage::has_crd);
  const auto l = static_cast<std::size_t>(level);
  const Level& kind = p.format.level(level);
  if (kind.kind != LevelKind::bitmap && !packed_bits(kind, p.ranges[l].size)) return p.levels[l].crd;
  // Unpack every batch, one behind the other at equal distances.
  std::vector<std::vector<std::int64_t>> rows;
  std::size_t longest = 0;
  for (std::int64_t b = 0; b < batches(p); ++b) {
    const auto views = level_views(p, b);
    const auto counts = level_counts(p, views);
    auto& row = rows.emplace_back();
    const auto& v = views[l];
    if (v.bits) {
      row.resize(static_cast<std::size_t>(counts[l + 1]));
      v.read_crd(0, counts[l + 1], row.data());
    } else {
      for (std::int64_t q = 0; q < counts[l]; ++q)
        for (std::int64_t c = 0; c < v.range.size; ++c)
          if (v.bit(q, c)) row.push_back(v.range.lo + c);
    }
    longest = std::max(longest, row.size());
  }
  Buffer out = Buffer::zeros(type().crd_dtype, static_cast<std::int64_t>(longest * rows.size()));
  for (std::size_t b = 0; b < rows.size(); ++b)
    for (std::size_t k = 0; k < rows[b].size(); ++k)
      out.set_index(static_cast<std::int64_t>(b * longest + k), rows[b][k]);
  return out;
}

Tensor Tensor::transpose(std::span<const int> perm) const {
  std::vector<bool> seen(static_cast<std::size_t>(rank()), false);
  bool ok = static_cast<int>(perm.size()) == rank();
  for (int d : perm) {
    ok = ok && d >= 0 && d < rank() && !seen[static_cast<std::size_t>(d)];
    if (ok) seen[static_cast<std::size_t>(d)] = true;
  }
  if (!ok)
    throw TensorError({.what = "not a permutation of the dimensions",
                       .expected = "each of 0 to " + std::to_string(rank() - 1) + " once",
                       .got = std::to_string(perm.size()) + " entries"});
  if (const auto last = impl_->transposed.get(); last && std::ranges::equal(last->perm, perm)) return last->tensor;
  TensorType t = type();
  t.format = t.format.transpose(perm);
  for (std::size_t d = 0; d < perm.size(); ++d) t.shape[d] = shape()[static_cast<std::size_t>(perm[d])];
  std::vector<Part> parts = impl_->parts;
  for (std::size_t k = 0; k < parts.size(); ++k) parts[k].format = t.format.part(static_cast<int>(k));
  Tensor out = make_from_parts(std::move(t), std::move(parts));
  if (impl_->is_kept) return out;
  out.impl_->is_kept = true;
  impl_->transposed.set(std::make_shared<const Impl::Transposed>(std::vector<int>(perm.begin(), perm.end()), out));
  return out;
}

void Tensor::Impl::forget_tensors() const {
  transposed.set(nullptr);
  if (const auto known = memo.get()) known->forget_tensors();
}

void Tensor::validate() const {
  for (int k = 0; k < num_parts(); ++k) {
    try {
      check_part(part(k), shape(), dtype());
    } catch (const TensorError& e) {
      if (num_parts() == 1) throw;
      Problem p = e.problem();
      p.what = "part " + std::to_string(k) + ": " + p.what;
      throw TensorError(std::move(p));
    }
  }
}

void for_each_stored(const Tensor& t, const std::function<void(std::span<const std::int64_t>, const void*)>& f) {
  std::vector<std::int64_t> coordinates(static_cast<std::size_t>(t.rank()));
  const auto width = static_cast<std::int64_t>(size_of(t.dtype()));
  for (int k = 0; k < t.num_parts(); ++k) {
    const Part& p = t.part(k);
    walk_slots(p, t.shape(), [&](const SlotChunk& chunk) {
      for (int i = 0; i < chunk.n; ++i) {
        for (std::size_t d = 0; d < coordinates.size(); ++d) coordinates[d] = chunk.dims[d][i];
        f(coordinates, static_cast<const char*>(p.values.data) + chunk.slot[i] * width);
      }
    });
  }
}

std::size_t TensorType::hash() const {
  std::size_t h = format.hash();
  const auto mix = [&h](std::uint64_t v) { h = (h ^ v) * 0x9E3779B97F4A7C15ull, h ^= h >> 29; };
  for (auto e : shape) mix(static_cast<std::uint64_t>(e));
  mix(static_cast<std::uint64_t>(dtype) | static_cast<std::uint64_t>(pos_dtype) << 8 |
      static_cast<std::uint64_t>(crd_dtype) << 16 | static_cast<std::uint64_t>(device.kind) << 24 |
      static_cast<std::uint64_t>(device.index) << 32);
  for (std::size_t k = 0; k < size_of(fill.dtype); ++k) mix(fill.bits[k]);
  for (auto s : strides) mix(static_cast<std::uint64_t>(s));
  mix(shared_value);
  return h;
}

std::string TensorType::to_string() const {
  std::string name = format.name();
  std::string s = name.empty() ? format.to_string() : name;
  s += " ";
  for (std::size_t d = 0; d < shape.size(); ++d) s += (d ? " x " : "") + std::to_string(shape[d]);
  if (shape.empty()) s += "()";
  s += ", " + std::string(name_of(dtype));
  bool pos = false, crd = false;
  for (int k = 0; k < format.num_parts(); ++k) {
    const Format part = format.part(k);
    for (const Level& level : part.levels()) pos |= storage::has_pos(level.kind), crd |= storage::has_crd(level.kind);
  }
  if (pos) s += ", pos " + std::string(name_of(pos_dtype));
  if (crd) s += ", crd " + std::string(name_of(crd_dtype));
  if (!fill.same_bits(Scalar::zero(fill.dtype))) s += ", fill " + fill.to_string();
  if (!strides.empty()) s += ", strided";
  if (shared_value) s += ", one shared value";
  if (device != Device{}) s += ", " + device.to_string();
  return s;
}

}  // namespace strata
