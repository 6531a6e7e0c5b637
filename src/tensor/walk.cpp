// The walk over a part: level by level, in columns of bounded length, so that each kind's dispatch is paid once per
// chunk.
//
// Outside slots are not visited where a level lists all coordinates (dense, range): the tests that such a level
// completes become bounds on its coordinates, per parent. There may be 2^32 of them, all sharing one value. What other
// levels list is tested one by one.
#include <algorithm>
#include <array>

#include "backend/steps.h"
#include "base/checked.h"
#include "tensor/part_view.h"

namespace strata {
namespace {

using storage::Children;
using storage::LevelView;

/// Rounded up, b > 0.
Int128 ceil_div(Int128 a, std::int64_t b) { return b == 1 ? a : a / b + (a % b > 0); }

class SlotWalker {
 public:
  /// Without `f` it only counts.
  SlotWalker(const Part& part, std::span<const std::int64_t> shape, const std::function<void(const SlotChunk&)>* f,
             std::span<const LevelRange> box = {})
      : part_(part),
        shape_(shape),
        map_(part.format, part.ranges, shape),
        f_(f),
        first_(batch_levels(part)),
        levels_(part.format.num_levels()) {
    if (!box.empty()) map_.keep_within(box, part.ranges);
    chunks_.resize(static_cast<std::size_t>(levels_));
    for (int l = first_; l < levels_; ++l) {
      auto& chunk = chunks_[static_cast<std::size_t>(l)];
      chunk.columns.resize(static_cast<std::size_t>(l));
      chunk.children = std::make_unique<Children>();
      chunk.children->full = [this, l] { flush(l); };
      for (const auto& test : map_.tests)
        if (test.completing == l) (lists_all(l) ? chunk.bound : chunk.clip).push_back(&test);
      if (chunk.bound.empty()) continue;
      chunk.low.resize(Children::capacity);
      chunk.high.resize(Children::capacity);
      chunk.children->first = chunk.low.data();
      chunk.children->last = chunk.high.data();
    }
    for (std::size_t d = 0; d < shape.size(); ++d) dims_.emplace_back();
  }

  void run() {
    std::vector<std::int64_t> root(static_cast<std::size_t>(levels_) + 1, 0);
    for (std::int64_t b = 0; b < batches(part_); ++b) {
      poll_at(b + 1);
      batch_coordinates(part_, b, root.data());
      bool outside = false;
      for (const auto& test : map_.tests)
        outside |= test.completing < first_ && !test.passes(DimensionMap::sum(test.terms, root.data()));
      if (outside) continue;
      views_ = level_views(part_, b);
      base_ = batch_levels(part_) > 0 ? b * part_.values_batch_stride : 0;
      root_ = root.data();
      batch_ = b;
      const std::int64_t start = part_.format.is_all_dense() ? part_.values_offset : 0;
      if (first_ == levels_) {
        emit(1, &start, nullptr);
        continue;
      }
      descend(first_, &start, 1);
      flush(first_);
    }
  }

  std::int64_t count() const { return count_; }

 private:
  struct LevelChunk {
    std::unique_ptr<Children> children;
    std::vector<std::array<std::int64_t, Children::capacity>> columns;  ///< coordinates of the levels above
    std::vector<const DimensionMap::Test*> clip;                        ///< what is complete here and must be tested
    std::vector<const DimensionMap::Test*> bound;  ///< what is complete here and bounds the coordinates of each parent:
    std::vector<std::int64_t> low, high;           ///< [low, high), counted from the level's first coordinate
  };

  bool lists_all(int l) const { return &storage::storage_of(part_.format.level(l).kind) == &storage::dense_storage; }

  void descend(int l, const std::int64_t* parents, int n) {
    poll_at(++descents_ * Children::capacity);
    const LevelView& v = views_[static_cast<std::size_t>(l)];
    LevelChunk& chunk = chunks_[static_cast<std::size_t>(l)];
    if (!chunk.bound.empty()) bound(l, n);
    if (!f_ && l + 1 == levels_ && lists_all(l)) {
      for (int i = 0; i < n; ++i)
        count_ += chunk.bound.empty()
                      ? v.range.size
                      : chunk.high[static_cast<std::size_t>(i)] - chunk.low[static_cast<std::size_t>(i)];
      return;
    }
    storage::storage_of(v.level.kind).walk(v, parents, n, *chunk.children);
  }

  /// Which coordinates of level l lie in the matrix, below each of n parents.
  void bound(int l, int n) {
    LevelChunk& chunk = chunks_[static_cast<std::size_t>(l)];
    const LevelRange& range = views_[static_cast<std::size_t>(l)].range;
    std::fill_n(chunk.low.begin(), n, 0);
    std::fill_n(chunk.high.begin(), n, range.size);
    for (const auto* test : chunk.bound) {
      std::vector<DimensionMap::LevelTerm> above;
      std::int64_t factor = 0;
      for (const auto& t : test->terms)
        if (t.level == l) factor = t.factor;
        else above.push_back(t);
      if (l == first_) tested_[0] = DimensionMap::sum(above, root_);
      else evaluate(l - 1, above, n, tested_.data());
      // 0 <= at + factor * c < extent, counted from `least` on, solved for c.
      for (std::size_t i = 0; i < static_cast<std::size_t>(n); ++i) {
        const Int128 at = static_cast<Int128>(tested_[i]) - test->least + static_cast<Int128>(factor) * range.lo;
        const Int128 low = factor > 0 ? ceil_div(-at, factor) : ceil_div(at - test->extent + 1, -factor);
        const Int128 high = factor > 0 ? ceil_div(test->extent - at, factor) : ceil_div(at + 1, -factor);
        chunk.low[i] = static_cast<std::int64_t>(std::clamp<Int128>(low, chunk.low[i], chunk.high[i]));
        chunk.high[i] = static_cast<std::int64_t>(std::clamp<Int128>(high, chunk.low[i], chunk.high[i]));
      }
    }
  }

  const std::int64_t* column(int l, int of) const {
    const LevelChunk& chunk = chunks_[static_cast<std::size_t>(l)];
    return of == l ? chunk.children->coordinate.data() : chunk.columns[static_cast<std::size_t>(of)].data();
  }

  /// Empties the chunk of level l: fills in the coordinates above, drops outside slots, walks on.
  void flush(int l) {
    LevelChunk& chunk = chunks_[static_cast<std::size_t>(l)];
    Children& c = *chunk.children;
    if (c.n == 0) return;
    for (int k = 0; k < l; ++k) {
      auto& out = chunk.columns[static_cast<std::size_t>(k)];
      if (l == first_ || k < first_) {
        std::fill_n(out.begin(), c.n, root_[k]);
        continue;
      }
      const std::int64_t* from = column(l - 1, k);
      for (int i = 0; i < c.n; ++i) out[static_cast<std::size_t>(i)] = from[c.parent[static_cast<std::size_t>(i)]];
    }
    for (const auto* test : chunk.clip) clip(l, *test);
    if (l + 1 == levels_) {
      if (c.n > 0) emit(c.n, c.position.data(), this);
    } else {
      descend(l + 1, c.position.data(), c.n);
      flush(l + 1);
    }
    c.n = 0;
  }

  void evaluate(int l, const std::vector<DimensionMap::LevelTerm>& terms, int n, std::int64_t* out) const {
    std::fill_n(out, n, 0);
    for (const auto& t : terms) {
      const std::int64_t* from = column(l, t.level);
      for (int i = 0; i < n; ++i) out[i] += t.factor * from[i];
    }
  }

  void clip(int l, const DimensionMap::Test& test) {
    LevelChunk& chunk = chunks_[static_cast<std::size_t>(l)];
    Children& c = *chunk.children;
    evaluate(l, test.terms, c.n, tested_.data());
    std::size_t kept = 0;
    const auto n = static_cast<std::size_t>(c.n);
    bool any = false;
    for (std::size_t i = 0; i < n; ++i) any |= !test.passes(tested_[i]);
    if (!any) return;
    for (std::size_t i = 0; i < n; ++i) {
      if (!test.passes(tested_[i])) continue;
      for (auto& column : chunk.columns) column[kept] = column[i];
      c.coordinate[kept] = c.coordinate[i];
      c.position[kept] = c.position[i];
      ++kept;
    }
    c.n = static_cast<int>(kept);
  }

  void emit(int n, const std::int64_t* position, const SlotWalker* columns) {
    count_ += n;
    if (!f_) return;
    if (count_ / steps_between_polls != (count_ - n) / steps_between_polls) poll_interrupt();
    const bool direct = part_.format.is_all_dense();
    for (int i = 0; i < n; ++i)
      slots_[static_cast<std::size_t>(i)] = direct ? position[i] : base_ + position[i] * part_.value_stride;
    std::array<const std::int64_t*, max_dims> dims{};
    for (std::size_t d = 0; d < shape_.size(); ++d) {
      const auto& terms = map_.terms[d];
      if (columns && terms.size() == 1 && terms[0].factor == 1) {
        dims[d] = column(levels_ - 1, terms[0].level);
        continue;
      }
      if (columns) evaluate(levels_ - 1, terms, n, dims_[d].data());
      else dims_[d][0] = DimensionMap::sum(terms, root_);
      dims[d] = dims_[d].data();
    }
    if (!direct) check(n, dims.data());
    (*f_)({.n = n, .dims = dims.data(), .slot = slots_.data(), .position = position, .batch = batch_});
  }

  /// Who borrowed arrays from may have written to them since they were checked.
  void check(int n, const std::int64_t* const* dims) const {
    bool outside = false;
    for (std::size_t d = 0; d < shape_.size(); ++d)
      for (int i = 0; i < n; ++i)
        outside |= static_cast<std::uint64_t>(dims[d][i]) >= static_cast<std::uint64_t>(shape_[d]);
    for (int i = 0; i < n; ++i)
      outside |= static_cast<std::uint64_t>(slots_[static_cast<std::size_t>(i)]) >=
                 static_cast<std::uint64_t>(part_.values.size);
    if (outside)
      throw TensorError({.what = "a coordinate or a position is out of range",
                         .expected = "arrays that stay as they were when they were checked",
                         .got = "arrays that were written to since",
                         .fix = "give the tensor a copy of them"});
  }

  const Part& part_;
  std::span<const std::int64_t> shape_;
  DimensionMap map_;
  const std::function<void(const SlotChunk&)>* f_;
  const int first_, levels_;
  std::vector<LevelChunk> chunks_;
  std::vector<LevelView> views_;
  std::int64_t base_ = 0, batch_ = 0, descents_ = 0, count_ = 0;
  const std::int64_t* root_ = nullptr;
  std::vector<std::array<std::int64_t, Children::capacity>> dims_;
  std::array<std::int64_t, Children::capacity> slots_, tested_;
};

}  // namespace

void walk_slots(const Part& part, std::span<const std::int64_t> shape, const std::function<void(const SlotChunk&)>& f,
                std::span<const LevelRange> box) {
  for (auto e : shape)
    if (e == 0) return;
  SlotWalker(part, shape, &f, box).run();
}

std::int64_t count_in_range(const Part& part, std::span<const std::int64_t> shape) {
  for (auto e : shape)
    if (e == 0) return 0;
  SlotWalker walk(part, shape, nullptr);
  walk.run();
  return walk.count();
}

}  // namespace strata
