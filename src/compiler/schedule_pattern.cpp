// Schedules for results in the driver's pattern: every slot is stored once, by whoever meets it, so chunks are disjoint
// and nothing is initialised. What is left to decide is the sum over the free indices (a dot product of two rows in
// SDDMM): its lanes, and whether one stretch of straight code holds it (then a factor that stays the same below, as A's
// row does, stays in registers) or a loop.
#include <algorithm>

#include "compiler/schedule.h"
#include "compiler/value.h"

namespace strata::compiler {

namespace {

class PatternScheduler {
 public:
  explicit PatternScheduler(const Graph& g) : g_(g), in_(*g.input), n_(g.num_levels()) {}

  ProductSchedule make() {
    s_.block_begin = n_;
    if (in_.optimize) {
      s_.block_begin = first_block_level(g_);
      find_flat(g_, s_);
      if (g_.free_sum.empty()) find_level_tile();
      else find_sum_tile();
      find_stream();
    }
    s_.accumulate = !g_.free_sum.empty() && !straight_;
    if (s_.accumulate) find_rows();
    s_.rows_ahead = in_.optimize && s_.tile_index >= 0 && s_.lanes > 1 && s_.block_begin == n_;
    find_launch();
    arrange();
    find_together();
    merge_flat(s_);
    s_.applies_beta = true;
    s_.text = describe(g_, s_);
    return std::move(s_);
  }

 private:
  const LevelFacts& level(int l) const { return g_.levels[static_cast<std::size_t>(l)]; }
  bool touches(const DimFacts& d, int l) const { return d.level_scale[static_cast<std::size_t>(l)] != 0; }
  std::int64_t block_slots() const {
    std::int64_t slots = 1;
    for (int l = s_.block_begin; l < n_; ++l) slots *= level(l).constant_size;
    return slots;
  }
  int most_lanes() const {
    const bool scalar_only = is_complex(in_.compute) || in_.compute == DType::boolean || in_.target.vector_bytes < 16;
    return scalar_only ? 1 : std::min(16, in_.target.vector_bytes / static_cast<int>(size_of(part_dtype(in_.compute))));
  }

  /// The longest summed index along which every factor is contiguous (or does not move); otherwise the longest, without
  /// lanes.
  void find_sum_tile() {
    std::int64_t best = 0;
    bool lanes = false;
    for (int i : g_.free_sum) {
      bool unit = most_lanes() > 1, late = false;
      for (const auto& a : g_.dense) {
        late = late || uses_late(g_, a, i);
        unit = unit && (a.operand < 0 || stride_along_index(a, i) != StrideKind::general);
      }
      const std::int64_t extent = g_.extents[static_cast<std::size_t>(i)];
      if (late || extent < 1 || (lanes && !unit) || (lanes == unit && extent <= best)) continue;
      s_.tile_index = i;
      best = extent;
      lanes = unit;
    }
    if (s_.tile_index < 0) return;
    s_.tile_sums = true;
    s_.lanes = lanes ? most_lanes() : 1;
    while (s_.lanes > best) s_.lanes /= 2;
    const std::int64_t whole = (best + s_.lanes - 1) / s_.lanes;
    const bool constant = in_.specialize && best <= 128;
    straight_ = constant && whole <= 32 && g_.free_sum.size() == 1 && block_slots() < 4;
    s_.vectors = static_cast<int>(straight_ ? whole : std::min<std::int64_t>(whole, 4));
  }

  /// Nothing is summed: lanes along a contiguous last level, where the factors are contiguous along it too.
  void find_level_tile() {
    const int l = n_ - 1, lanes = most_lanes();
    const LevelFacts& f = level(l);
    const bool flat = s_.is_flat(l) && !s_.flat_is_read;
    if (lanes < 2 || !(flat || (l > 0 && f.contiguous()))) return;
    const bool block = l >= s_.block_begin;
    for (const auto& a : g_.dense) {
      if (a.operand < 0) continue;
      if (!flat && stride_along_level(g_, a, l) == StrideKind::general) return;
      for (const auto& d : g_.dims)
        if (touches(d, l) && d.index >= 0 && uses_late(g_, a, d.index)) return;
    }
    for (const auto& d : g_.dims)
      if (touches(d, l) && !d.exact() && (block || d.level_scale[static_cast<std::size_t>(l)] < -1)) return;
    s_.lanes = lanes;
    if (block) {
      while (s_.lanes > f.constant_size) s_.lanes /= 2;
      if (s_.lanes < 2 || f.constant_size / s_.lanes > 8) return void(s_.lanes = 1);
    } else {
      s_.vectors = 4;
      s_.stream_level = l;
    }
    s_.tile_level = l;
  }

  /// A stream of coordinates and values is prefetched, unless a row of vectors is loaded for each: that keeps the
  /// memory busy by itself.
  void find_stream() {
    if (s_.tile_level >= 0 || (s_.tile_index >= 0 && s_.lanes > 1 && s_.block_begin == n_)) return;
    int l = s_.block_begin - 1;
    while (l > 0 && level(l).level.kind == LevelKind::singleton) --l;
    const LevelKind k = level(l).level.kind;
    if (k == LevelKind::compressed || k == LevelKind::padded || k == LevelKind::delta) s_.stream_level = l;
  }

  /// A block's slots whose sums are held at once, as square as its levels allow: each vector loaded then serves
  /// several.
  void find_rows() {
    const std::int64_t held = in_.target.vector_bytes >= 64 ? 16 : 8;
    std::int64_t all = 1;
    for (int l = s_.block_begin; l < n_; ++l) {
      s_.rows.push_back(l);
      s_.row_pieces.push_back(1);
    }
    for (bool grown = true; grown;) {
      grown = false;
      std::size_t least = s_.rows.size();
      std::int64_t next = 0;
      for (std::size_t r = 0; r < s_.rows.size(); ++r) {
        const std::int64_t size = level(s_.rows[r]).constant_size, now = s_.row_pieces[r];
        std::int64_t more = now + 1;
        while (more <= size && size % more != 0) ++more;
        if (more > size || all / now * more > held || (least < s_.rows.size() && s_.row_pieces[least] <= now)) continue;
        least = r;
        next = more;
      }
      if (least == s_.rows.size()) break;
      all = all / s_.row_pieces[least] * next;
      s_.row_pieces[least] = next;
      grown = true;
    }
    s_.vectors = static_cast<int>(std::clamp<std::int64_t>(4 / all, 1, s_.vectors));
  }

  void find_launch() {
    if (n_ == 0) return;
    const LevelFacts& f = level(0);
    if (f.level.kind != LevelKind::dense && f.level.kind != LevelKind::compressed) return;
    s_.launch.level = f.number;
    s_.launch.weight_level = weight_level(g_);
    s_.launch.kind = s_.launch.weight_level >= 0 ? Launch::outer_weighted : Launch::outer_uniform;
  }

  void arrange() {
    auto& steps = s_.steps;
    const auto walk = [&](int l) { steps.push_back({ScheduleStep::walk, l, l, -1, 0}); };
    const auto tile = [&] {
      steps.push_back({ScheduleStep::tile, s_.tile_index >= 0 ? -1 : s_.tile_level, -1, s_.tile_index, 0});
    };
    if (!s_.accumulate) {
      const int depth = s_.tile_index >= 0 ? hoisted_depth(g_, s_) : n_;
      const std::int64_t unrolled = block_slots() <= 16 ? 1 : 0;
      for (int l = 0; l < n_; ++l) {
        if (l == depth) tile();
        if (l == s_.tile_level) tile();
        else if (l < s_.block_begin) walk(l);
        else steps.push_back({ScheduleStep::constant, l, l, -1, unrolled});
      }
      if (depth == n_ && s_.tile_index >= 0) tile();
      return;
    }
    for (int l = 0; l < s_.block_begin; ++l) walk(l);
    if (s_.block_begin < n_) steps.push_back({ScheduleStep::split, -1, -1, -1, 0});
    for (std::size_t r = 0; r < s_.rows.size(); ++r)
      if (s_.row_pieces[r] != level(s_.rows[r]).constant_size)
        steps.push_back({ScheduleStep::row_tile, s_.rows[r], -1, -1, s_.row_pieces[r]});
    steps.push_back({ScheduleStep::open, -1, -1, -1, 0});
    for (int i : g_.free_sum)
      if (i != s_.tile_index) steps.push_back({ScheduleStep::free_loop, -1, -1, i, 0});
    if (s_.tile_index >= 0) tile();
    for (int l : s_.rows) steps.push_back({ScheduleStep::constant, l, l, -1, 1});
  }

  /// Slots of a row that follow each other: to add up the lanes of one vector takes as long as of four. (Factors beside
  /// the sum would have to be gathered.)
  void find_together() {
    const DType t = in_.compute;
    const bool plain =
        (t == DType::f32 || t == DType::f64) && g_.driver_type().dtype == t && !g_.driver_type().shared_value;
    const bool walks = !s_.steps.empty() && s_.steps.back().kind == ScheduleStep::walk &&
                       s_.steps.back().level == n_ - 1 && level(n_ - 1).level.kind == LevelKind::compressed &&
                       !s_.is_flat(n_ - 1);
    if (!in_.optimize || !straight_ || !plain || !walks || s_.lanes < slots_together || s_.block_begin < n_) return;
    if (g_.extents[static_cast<std::size_t>(s_.tile_index)] % s_.lanes != 0) return;
    for (int l = 0; l + 1 < n_; ++l)
      if (level(l).level.kind != LevelKind::dense && level(l).level.kind != LevelKind::compressed) return;
    for (const auto& d : g_.dims)
      if (!d.exact()) return;
    for (const auto& a : g_.dense) {
      const auto ids = g_.indices(a.operand);
      if (a.operand >= 0 && std::find(ids.begin(), ids.end(), s_.tile_index) == ids.end()) return;
    }
    s_.together = true;
    s_.unroll_level = n_ - 1;
    s_.chains = slots_together;
    find_identical_rows();
  }

  /// Rows of the parent level with the same coordinates, which share what the last level chooses. (One vector a slot:
  /// adding up its lanes is most of the work, and that no row shares.)
  void find_identical_rows() {
    const int row = n_ - 2;
    if (in_.order != RowOrder::identical || row < 0 || s_.vectors < 2 || level(row).level.kind != LevelKind::dense ||
        s_.is_flat(row))
      return;
    bool own = false;
    for (const auto& a : g_.dense) {
      if (a.operand < 0) continue;
      const bool by_row = stride_along_level(g_, a, row) != StrideKind::broadcast,
                 by_element = stride_along_level(g_, a, n_ - 1) != StrideKind::broadcast;
      if ((by_row && by_element) || !a.late_levels.empty()) return;
      own = own || by_row;
    }
    if (own) s_.identical_rows_level = row;
  }

  static constexpr int slots_together = 4;

  const Graph& g_;
  const LowerInput& in_;
  int n_;
  bool straight_ = false;  ///< one stretch of code holds the whole sum of a slot
  ProductSchedule s_;
};

}  // namespace

ProductSchedule make_pattern_schedule(const Graph& graph) { return PatternScheduler(graph).make(); }

}  // namespace strata::compiler
