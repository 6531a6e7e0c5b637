#include "tensor/part_view.h"

#include <algorithm>

#include "base/checked.h"

namespace strata {
namespace {

/// A sum of multiples of level coordinates, as Format::eval_dim computes with it.
struct LinearForm {
  std::vector<std::int64_t> factor = std::vector<std::int64_t>(max_levels, 0);
  bool overflow = false;

  friend LinearForm operator+(LinearForm a, const LinearForm& b) { return combine(std::move(a), b, 1); }
  friend LinearForm operator-(LinearForm a, const LinearForm& b) { return combine(std::move(a), b, -1); }
  friend LinearForm operator*(LinearForm a, std::int64_t n) {
    for (auto& f : a.factor) a.overflow |= __builtin_mul_overflow(f, n, &f);
    return a;
  }
  static LinearForm combine(LinearForm a, const LinearForm& b, int sign) {
    a.overflow |= b.overflow;
    for (std::size_t l = 0; l < a.factor.size(); ++l)
      a.overflow |= sign > 0 ? __builtin_add_overflow(a.factor[l], b.factor[l], &a.factor[l])
                             : __builtin_sub_overflow(a.factor[l], b.factor[l], &a.factor[l]);
    return a;
  }
};

/// The least and the largest that a term can be.
std::pair<Int128, Int128> ends(const DimensionMap::LevelTerm& t, std::span<const LevelRange> ranges) {
  const LevelRange& r = ranges[static_cast<std::size_t>(t.level)];
  const Int128 x = static_cast<Int128>(t.factor) * r.lo,
               y = static_cast<Int128>(t.factor) * (static_cast<Int128>(r.lo) + std::max<std::int64_t>(r.size, 1) - 1);
  return {std::min(x, y), std::max(x, y)};
}

/// Linear forms of an inverse expression, and the tests that its level coordinates must pass.
class Inverter {
 public:
  Inverter(DimensionMap& map, const Format& format, std::span<const LevelRange> ranges)
      : map_(map), format_(format), ranges_(ranges) {}

  std::vector<DimensionMap::LevelTerm> dimension(int d, std::int64_t extent) {
    extent_ = extent;
    dimension_ = d;
    const int root = format_.spec().parts[0].inverse[static_cast<std::size_t>(d)];
    auto terms = this->terms(root);
    require(terms, extent);
    remainders(root);
    return terms;
  }

 private:
  std::vector<DimensionMap::LevelTerm> terms(int node) {
    const auto leaf = [](int l) {
      LinearForm x;
      x.factor[static_cast<std::size_t>(l)] = 1;
      return x;
    };
    const LinearForm a = detail::eval_inverse<LinearForm>(format_.spec(), node, leaf);
    std::vector<DimensionMap::LevelTerm> list;
    // Partial sums must not wrap either, so the bound adds magnitudes.
    Int128 magnitude = 0;
    for (int l = 0; l < format_.num_levels(); ++l) {
      const std::int64_t f = a.factor[static_cast<std::size_t>(l)];
      if (f == 0) continue;
      list.push_back({l, f});
      const auto [least, most] = ends(list.back(), ranges_);
      magnitude += std::max(-least, most);
    }
    if (a.overflow || magnitude > INT64_MAX)
      throw TensorError({.what = "dimension " + std::to_string(dimension_) + " is too large for this format",
                         .expected = "level coordinates that combine within 64 bits",
                         .got = "extent " + std::to_string(extent_)});
    return list;
  }

  /// Lists a test unless the levels' ranges alone keep the sum in [0, extent).
  void require(const std::vector<DimensionMap::LevelTerm>& list, std::int64_t extent) {
    Int128 low = 0, high = 0;
    int last = -1;
    for (const auto& t : list) {
      const auto [least, most] = ends(t, ranges_);
      low += least;
      high += most;
      last = std::max(last, t.level);
    }
    if (low < 0 || high >= extent) map_.tests.push_back({list, extent, last});
  }

  void remainders(int node) {
    const InverseNode& e = format_.spec().inverses[static_cast<std::size_t>(node)];
    if (e.op == InverseNode::level) return;
    if (e.op == InverseNode::join) require(terms(e.b), e.n);
    remainders(e.a);
    remainders(e.b);
  }

  DimensionMap& map_;
  const Format& format_;
  std::span<const LevelRange> ranges_;
  std::int64_t extent_ = 0;
  int dimension_ = 0;
};

}  // namespace

DimensionMap::DimensionMap(const Format& format, std::span<const LevelRange> ranges,
                           std::span<const std::int64_t> shape) {
  Inverter inverter(*this, format, ranges);
  for (int d = 0; d < format.rank(); ++d) terms.push_back(inverter.dimension(d, shape[static_cast<std::size_t>(d)]));
}

void DimensionMap::keep_within(std::span<const LevelRange> box, std::span<const LevelRange> ranges) {
  for (std::size_t d = 0; d < terms.size(); ++d) {
    // What is known at a level, what its other levels may add, and where the sum of both must come to lie.
    Int128 known_least = 0, known_most = 0, others_least = 0, others_most = 0;
    for (const LevelTerm& t : terms[d]) {
      const auto [least, most] = ends(t, ranges);
      others_least += least;
      others_most += most;
    }
    std::vector<LevelTerm> known;
    for (const LevelTerm& t : terms[d]) {
      const auto [least, most] = ends(t, ranges);
      known_least += least, others_least -= least;
      known_most += most, others_most -= most;
      known.push_back(t);
      const Int128 begin = std::max(known_least, box[d].lo - others_most),
                   end = std::min(known_most + 1, static_cast<Int128>(box[d].lo) + box[d].size - others_least);
      const bool all = begin == known_least && end == known_most + 1;
      if (all || end - begin > INT64_MAX) continue;
      tests.push_back({known, static_cast<std::int64_t>(std::max<Int128>(end - begin, 0)), t.level,
                       static_cast<std::int64_t>(std::min(begin, known_most))});
    }
  }
}

int batch_levels(const Part& part) { return part.format.is_all_dense() ? 0 : part.format.num_batch_levels(); }
std::int64_t batches(const Part& part) { return batch_levels(part) == 0 ? 1 : part.num_batches; }

void batch_coordinates(const Part& part, std::int64_t b, std::int64_t* level_coordinates) {
  for (int l = batch_levels(part) - 1; l >= 0; --l) {
    const LevelRange& r = part.ranges[static_cast<std::size_t>(l)];
    level_coordinates[l] = r.lo + b % r.size;
    b /= r.size;
  }
}

std::vector<storage::LevelView> level_views(const Part& part, std::int64_t batch) {
  const int levels = part.format.num_levels();
  const bool all_dense = part.format.is_all_dense();
  std::vector<storage::LevelView> views(static_cast<std::size_t>(levels));
  for (int l = 0; l < levels; ++l) {
    const auto i = static_cast<std::size_t>(l);
    auto& v = views[i];
    v.level = part.format.level(l);
    v.range = part.ranges[i];
    v.index = l;
    v.bits = packed_bits(v.level, v.range.size);
    v.scale = all_dense ? 1 : v.range.size;
    v.step = all_dense ? part.strides[i] : 1;
    const auto view = [&](const Buffer& buffer, const std::vector<std::int64_t>& strides) {
      const bool batched = batch_levels(part) > 0;
      const std::int64_t stride = batched && i < strides.size() ? strides[i] : 0;
      return IndexView(buffer, batch * stride, batched ? stride : buffer.size);
    };
    if (storage::has_pos(v.level.kind)) v.pos = view(part.levels[i].pos, part.pos_strides);
    if (storage::has_crd(v.level.kind)) v.crd = view(part.levels[i].crd, part.crd_strides);
  }
  return views;
}

std::vector<std::int64_t> level_counts(const Part& part, std::span<const storage::LevelView> views) {
  std::vector<std::int64_t> counts(views.size() + 1, 1);
  for (std::size_t l = static_cast<std::size_t>(batch_levels(part)); l < views.size(); ++l)
    counts[l + 1] = storage::storage_of(views[l].level.kind).positions(views[l], counts[l]);
  return counts;
}

}  // namespace strata
