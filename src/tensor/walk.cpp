// The walk over a part: level by level, in columns of bounded length, so that each kind's dispatch is paid once per piece.
#include <algorithm>
#include <array>

#include "tensor/part_view.h"

namespace strata {
namespace {

using storage::Children;
using storage::LevelView;

class Walk {
 public:
  Walk(const Part& part, std::span<const std::int64_t> shape, const std::function<void(const SlotChunk&)>& f)
      : part_(part), shape_(shape), map_(part.format, part.ranges, shape), f_(f), first_(batch_levels(part)), levels_(part.format.num_levels()) {
    pieces_.resize(static_cast<std::size_t>(levels_));
    for (int l = first_; l < levels_; ++l) {
      auto& piece = pieces_[static_cast<std::size_t>(l)];
      piece.columns.resize(static_cast<std::size_t>(l));
      piece.children = std::make_unique<Children>();
      piece.children->full = [this, l] { flush(l); };
      for (const auto& test : map_.tests)
        if (test.completing == l) piece.clip.push_back(&test);
    }
    for (std::size_t d = 0; d < shape.size(); ++d) dims_.emplace_back();
  }

  void run() {
    std::vector<std::int64_t> root(static_cast<std::size_t>(levels_) + 1, 0);
    for (std::int64_t b = 0; b < batches(part_); ++b) {
      batch_coordinates(part_, b, root.data());
      bool outside = false;
      for (const auto& test : map_.tests)
        if (test.completing < first_) {
          const std::int64_t c = DimensionMap::sum(test.terms, root.data());
          outside |= c < 0 || c >= test.extent;
        }
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

 private:
  struct Piece {
    std::unique_ptr<Children> children;
    std::vector<std::array<std::int64_t, Children::capacity>> columns;  ///< coordinates of the levels above
    std::vector<const DimensionMap::Test*> clip;                       ///< what is complete here and must be tested
  };

  void descend(int l, const std::int64_t* parents, int n) {
    const LevelView& v = views_[static_cast<std::size_t>(l)];
    storage::storage_of(v.level.kind).walk(v, parents, n, *pieces_[static_cast<std::size_t>(l)].children);
  }

  const std::int64_t* column(int l, int of) const {
    const Piece& piece = pieces_[static_cast<std::size_t>(l)];
    return of == l ? piece.children->coordinate.data() : piece.columns[static_cast<std::size_t>(of)].data();
  }

  /// Empties the piece of level l: fills in the coordinates above, drops outside slots, walks on.
  void flush(int l) {
    Piece& piece = pieces_[static_cast<std::size_t>(l)];
    Children& c = *piece.children;
    if (c.n == 0) return;
    for (int k = 0; k < l; ++k) {
      auto& out = piece.columns[static_cast<std::size_t>(k)];
      if (l == first_ || k < first_) {
        std::fill_n(out.begin(), c.n, root_[k]);
        continue;
      }
      const std::int64_t* from = column(l - 1, k);
      for (int i = 0; i < c.n; ++i) out[static_cast<std::size_t>(i)] = from[c.parent[static_cast<std::size_t>(i)]];
    }
    for (const auto* test : piece.clip) clip(l, *test);
    if (l + 1 == levels_) {
      if (c.n > 0) emit(c.n, c.position.data(), this);
    } else {
      descend(l + 1, c.position.data(), c.n);
      flush(l + 1);
    }
    c.n = 0;
  }

  void evaluate(int l, const std::vector<DimensionMap::Term>& terms, int n, std::int64_t* out) const {
    std::fill_n(out, n, 0);
    for (const auto& t : terms) {
      const std::int64_t* from = column(l, t.level);
      for (int i = 0; i < n; ++i) out[i] += t.factor * from[i];
    }
  }

  void clip(int l, const DimensionMap::Test& test) {
    Piece& piece = pieces_[static_cast<std::size_t>(l)];
    Children& c = *piece.children;
    evaluate(l, test.terms, c.n, tested_.data());
    const auto extent = static_cast<std::uint64_t>(test.extent);
    std::size_t kept = 0;
    const auto n = static_cast<std::size_t>(c.n);
    bool any = false;
    for (std::size_t i = 0; i < n; ++i) any |= static_cast<std::uint64_t>(tested_[i]) >= extent;
    if (!any) return;
    for (std::size_t i = 0; i < n; ++i) {
      if (static_cast<std::uint64_t>(tested_[i]) >= extent) continue;
      for (auto& column : piece.columns) column[kept] = column[i];
      c.coordinate[kept] = c.coordinate[i];
      c.position[kept] = c.position[i];
      ++kept;
    }
    c.n = static_cast<int>(kept);
  }

  void emit(int n, const std::int64_t* position, const Walk* columns) {
    const bool direct = part_.format.is_all_dense();
    for (int i = 0; i < n; ++i) slots_[static_cast<std::size_t>(i)] = direct ? position[i] : base_ + position[i] * part_.value_stride;
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
    f_({.n = n, .dims = dims.data(), .slot = slots_.data(), .position = position, .batch = batch_});
  }

  const Part& part_;
  std::span<const std::int64_t> shape_;
  DimensionMap map_;
  const std::function<void(const SlotChunk&)>& f_;
  const int first_, levels_;
  std::vector<Piece> pieces_;
  std::vector<LevelView> views_;
  std::int64_t base_ = 0, batch_ = 0;
  const std::int64_t* root_ = nullptr;
  std::vector<std::array<std::int64_t, Children::capacity>> dims_;
  std::array<std::int64_t, Children::capacity> slots_, tested_;
};

}  // namespace

void walk_slots(const Part& part, std::span<const std::int64_t> shape, const std::function<void(const SlotChunk&)>& f) {
  for (auto e : shape)
    if (e == 0) return;
  Walk(part, shape, f).run();
}

}  // namespace strata
