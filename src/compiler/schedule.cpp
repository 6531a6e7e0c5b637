#include "compiler/schedule.h"

#include <algorithm>

#include "compiler/value.h"
#include "format/registered_levels.h"

namespace strata::compiler {

StrideKind stride_along_index(const DenseAccess& access, int index) {
  StrideKind found = StrideKind::broadcast;
  for (const auto& t : access.terms)
    if (t.index == index) found = found == StrideKind::broadcast ? t.kind : StrideKind::general;
  return found;
}

StrideKind stride_along_level(const Graph& g, const DenseAccess& access, int level) {
  if (access.operand == g.input->driver) {
    const TensorType& t = g.driver_type();
    const int number = g.levels[static_cast<std::size_t>(level)].number;
    if (!t.strides.empty()) return t.strides[static_cast<std::size_t>(number)];
    return number + 1 == g.format.num_levels() ? StrideKind::unit : StrideKind::general;
  }
  StrideKind found = StrideKind::broadcast;
  for (const auto& t : access.terms) {
    const int dim = g.dim_of_index[static_cast<std::size_t>(t.index)];
    if (dim < 0) continue;
    const std::int64_t scale = g.dims[static_cast<std::size_t>(dim)].level_scale[static_cast<std::size_t>(level)];
    if (scale == 0) continue;
    found = found == StrideKind::broadcast && scale == 1 ? t.kind : StrideKind::general;
  }
  return found;
}

namespace {

/// Makes the decisions one after the other; each is a member function.
class ProductScheduler {
 public:
  explicit ProductScheduler(const Graph& g) : g_(g), in_(*g.input), n_(g.num_levels()) {}

  ProductSchedule make() {
    s_.block_begin = n_;
    batches();
    if (in_.optimize) {
      s_.block_begin = first_block_level(g_);
      find_flat(g_, s_);
      find_depth();
      find_tile();
      find_early();
      find_rows();
      find_sums(g_, depth_, run_first_ >= 0, s_);
      find_chains();
      find_rows_ahead();
    } else {
      depth_ = n_;
    }
    find_launch();
    arrange();
    merge_flat(s_);
    find_beta();
    s_.text = describe(g_, s_);
    return std::move(s_);
  }

 private:
  const LevelFacts& level(int l) const { return g_.levels[static_cast<std::size_t>(l)]; }
  const DimFacts& dim(int d) const { return g_.dims[static_cast<std::size_t>(d)]; }
  bool touches(int d, int l) const { return dim(d).level_scale[static_cast<std::size_t>(l)] != 0; }
  /// Does the output's address depend on this level?
  bool moves_output(int l) const {
    for (int i : in_.einsum.output)
      if (const int d = g_.dim_of_index[static_cast<std::size_t>(i)]; d >= 0 && touches(d, l)) return true;
    return false;
  }

  void batches() {
    for (const auto& b : g_.batches) {
      bool found = false;
      for (int i : in_.einsum.output)
        if (const int d = g_.dim_of_index[static_cast<std::size_t>(i)]; d >= 0) {
          const auto& scales = dim(d).batch_scale;
          for (std::size_t k = 0; k < scales.size(); ++k)
            found = found ||
                    (scales[k] != 0 && g_.batches[k].number == b.number &&
                     std::none_of(dim(d).level_scale.begin(), dim(d).level_scale.end(), [](auto x) { return x != 0; }));
        }
      s_.independent_batches = s_.independent_batches && found;
    }
  }

  /// How many levels must be entered before the output's place is known, blocks aside; and whether something is left to
  /// sum below.
  void find_depth() {
    depth_ = 0;
    for (int l = 0; l < s_.block_begin; ++l)
      if (moves_output(l)) depth_ = l + 1;
    // A singleton below its parent is one slot: no loop, nothing to sum, unless its parent's equal coordinates are
    // taken as one run.
    bool sums = false;
    for (int l = depth_; l < s_.block_begin; ++l) sums = sums || level(l).level.kind != LevelKind::singleton;
    for (int l = s_.block_begin; l < n_; ++l) sums = sums || !moves_output(l);
    if (!sums && depth_ > 0 && depth_ < s_.block_begin) {
      const int last = depth_ - 1;
      int first = last;
      while (first > 0 && level(first).level.kind == LevelKind::singleton) --first;
      const LevelFacts& f = level(first);
      // Ordered: a run passes over what lies between two coordinates that are the same.
      if (f.level.kind == LevelKind::compressed && !f.level.unique && f.level.ordered) {
        run_first_ = first;
        run_last_ = last;
        sums = true;
      }
    }
    s_.accumulate = sums;
    if (!sums) depth_ = n_;
  }

  /// Which loop is cut into lanes: a free index with unit stride, or the contiguous last level; or registers alone.
  void find_tile() {
    const DType part = part_dtype(in_.compute);
    const bool scalar_only = is_complex(in_.compute) || in_.compute == DType::boolean || in_.target.vector_bytes < 16;
    const int most_lanes = scalar_only ? 1 : std::min(16, in_.target.vector_bytes / static_cast<int>(size_of(part)));
    const int registers = in_.target.vector_bytes >= 64 ? 24 : 12;

    int chosen = -1, fallback = -1;
    std::int64_t best = 0;
    for (int i : g_.free_out) {
      bool unit = true, late = false;
      for (const auto& a : g_.dense) {
        if (uses_late(g_, a, i)) late = true;
        if (a.operand >= 0 && stride_along_index(a, i) == StrideKind::general) unit = false;
        // The output may be strided where it is stored once, element by element.
        if (a.operand < 0 && stride_along_index(a, i) != StrideKind::unit && !s_.accumulate) unit = false;
      }
      if (late) continue;
      fallback = i;
      const std::int64_t extent = g_.extents[static_cast<std::size_t>(i)];
      if (unit && extent > best && extent > 1) {
        best = extent;
        chosen = i;
      }
    }
    if (chosen >= 0) {
      s_.tile_index = chosen;
      int lanes = most_lanes;
      while (lanes > best) lanes /= 2;
      s_.lanes = lanes;
      const bool constant = in_.specialize && best <= 128;
      const std::int64_t whole = constant ? (best + lanes - 1) / lanes : 8;
      // As many vectors as fit; a constant extent is cut evenly.
      const std::int64_t fit = s_.accumulate ? registers : 8;
      const std::int64_t tiles = (whole + fit - 1) / fit;
      s_.vectors = static_cast<int>(constant ? (whole + tiles - 1) / tiles : std::min<std::int64_t>(8, fit));
      return;
    }
    if (s_.accumulate && fallback >= 0) {  // no lanes, but a few columns at once: one walk serves them all
      s_.tile_index = fallback;
      const std::int64_t extent = g_.extents[static_cast<std::size_t>(fallback)];
      s_.vectors = static_cast<int>(std::clamp<std::int64_t>(extent, 1, 8));
      return;
    }
    if (most_lanes > 1 && n_ > 0) find_level_tile(most_lanes);
  }

  /// Diagonals times a matrix: the run is walked first, so that a whole row of the output stays in registers while all
  /// diagonals add to it.
  void find_early() {
    const int l = n_ - 1;
    int unused = -1;
    if (s_.accumulate || s_.tile_index < 0 || l < 1 || l >= s_.block_begin || !level(l).contiguous() ||
        !window_dim(l, unused))
      return;
    int above = 0;
    for (int k = 0; k < l; ++k)
      if (moves_output(k)) above = k + 1;
    bool loops = false;
    for (int k = above; k < l; ++k) loops = loops || level(k).level.kind != LevelKind::singleton;
    if (!loops) return;
    s_.early_level = l;
    s_.accumulate = true;
    depth_ = above;
    const int registers = in_.target.vector_bytes >= 64 ? 24 : 12;
    s_.vectors = std::min(s_.vectors, registers);
  }

  void find_level_tile(int most_lanes) {
    const int l = n_ - 1;
    const LevelFacts& f = level(l);
    if (!g_.free_sum.empty()) return;
    if (s_.is_flat(l) && !s_.flat_is_read && s_.accumulate) {
      // Rows are mostly short; a run through all of them is long.
      s_.lanes = most_lanes;
      s_.vectors = s_.flat_first == 0 ? 4 : 2;
      s_.stream_level = s_.tile_level = l;
      s_.tile_sums = true;
      return;
    }
    if (!f.contiguous()) return;
    const bool block = l >= s_.block_begin;
    for (const auto& a : g_.dense) {
      const StrideKind k = stride_along_level(g_, a, l);
      if (a.operand >= 0 && k == StrideKind::general) return;
      if (a.operand < 0 && k == StrideKind::general && !s_.accumulate) return;
      if (a.operand >= 0 && a.operand != in_.driver)
        for (int d = 0; d < static_cast<int>(g_.dims.size()); ++d)
          if (touches(d, l) && dim(d).index >= 0 && uses_late(g_, a, dim(d).index)) return;
    }
    for (int d = 0; d < static_cast<int>(g_.dims.size()); ++d) {
      if (!touches(d, l)) continue;
      const int index = dim(d).index;
      if (index >= 0)
        for (int other = 0; other < static_cast<int>(g_.dims.size()); ++other)
          if (other != d && dim(other).index == index) return;  // a repeated index is tested element by element
      if (block && !dim(d).exact()) {
        if (dim(d).below_zero || dim(d).level_scale[static_cast<std::size_t>(l)] < 0) return;
        for (int k = s_.block_begin; k < n_; ++k)
          if (k != l && touches(d, k)) return;
      }
      if (!block && !dim(d).exact() && dim(d).level_scale[static_cast<std::size_t>(l)] < -1) return;
      for (int k = l + 1; k < n_; ++k)
        if (touches(d, k)) return;
    }
    const bool sums = s_.accumulate && !moves_output(l);
    if (s_.accumulate && !sums && !block) return;  // known above? then it is not the last level that moves the output
    if (block) {
      if (!s_.accumulate) return;
      int lanes = most_lanes;
      while (lanes > f.constant_size) lanes /= 2;
      if (lanes < 2 || f.constant_size % lanes != 0) return;
      if (!sums && f.constant_size / lanes > 8) return;
      s_.lanes = lanes;
      s_.vectors = 1;
    } else {
      s_.lanes = most_lanes;
      s_.vectors = 4;
      s_.stream_level = l;
    }
    s_.tile_level = l;
    s_.tile_sums = sums;
  }

  /// Rows of a block that are held at once; larger blocks are walked in pieces.
  void find_rows() {
    if (!s_.accumulate) return;
    const std::int64_t registers = in_.target.vector_bytes >= 64 ? 24 : 12;
    std::int64_t held = s_.tile_index >= 0 ? s_.vectors : 1;
    if (s_.tile_level >= s_.block_begin && s_.tile_level >= 0 && !s_.tile_sums)
      held = level(s_.tile_level).constant_size / s_.lanes;
    for (int l = n_ - 1; l >= s_.block_begin; --l) {
      if (!moves_output(l) || (l == s_.tile_level && !s_.tile_sums)) continue;
      const std::int64_t size = level(l).constant_size;
      std::int64_t piece = size;
      if (s_.tile_index >= 0 && held == s_.vectors && s_.vectors > 1) {
        // Beside the accumulators, the vectors loaded and one broadcast value stay in registers.
        const std::int64_t all = in_.target.vector_bytes >= 64 ? 32 : 16,
                           fit = std::max<std::int64_t>(1, (all - 1) / (std::min<std::int64_t>(size, 4) + 1));
        if (s_.vectors > fit) {
          const std::int64_t extent = g_.extents[static_cast<std::size_t>(s_.tile_index)],
                             whole = (extent + s_.lanes - 1) / s_.lanes;
          const std::int64_t tiles = (whole + fit - 1) / fit;
          s_.vectors = static_cast<int>(in_.specialize && extent <= 128 ? (whole + tiles - 1) / tiles : fit);
          held = s_.vectors;
        }
      }
      while (piece > 1 && held * piece > registers) {
        std::int64_t next = piece - 1;
        while (size % next != 0) --next;
        piece = next;
      }
      held *= piece;
      s_.rows.insert(s_.rows.begin(), l);
      s_.row_pieces.insert(s_.row_pieces.begin(), piece);
    }
    accumulators_ = held;
  }

  /// Several chains hide the latency of the fma where accumulators are few.
  void find_chains() {
    if (s_.early_level >= 0) return;
    for (int l = n_ - 1; l >= 0; --l) {
      if (l >= s_.block_begin || level(l).level.kind == LevelKind::structured) continue;
      if (l == s_.tile_level || l == s_.early_level) continue;
      const LevelKind k = level(l).level.kind;
      // A singleton is one slot: the level above it loops.
      if (k == LevelKind::singleton && !s_.is_flat(l) && run_last_ < 0 && l > depth_) continue;
      const bool counted = s_.is_flat(l) || k == LevelKind::dense || k == LevelKind::range ||
                           k == LevelKind::compressed || k == LevelKind::padded || k == LevelKind::delta ||
                           levels::is_registered(k);
      if (counted && s_.stream_level < 0 && k != LevelKind::dense && k != LevelKind::range) s_.stream_level = l;
      if (run_last_ >= 0 && l == run_last_ + 1 && l == s_.block_begin - 1) {
        s_.stream_level = l;
        s_.unroll_level = l;
      }
      const bool below = s_.accumulate && l >= depth_;
      if (below && counted) s_.unroll_level = l;
      break;
    }
    // A row of vectors loaded for every stored element keeps the memory busy by itself (measured: prefetching costs
    // 10-20 % there).
    if (s_.tile_index >= 0 && s_.lanes > 1 && s_.block_begin == n_) s_.stream_level = -1;
    if (s_.unroll_level < 0) return;
    if (s_.tile_sums && s_.tile_level < s_.block_begin) return;
    if (!s_.sums.empty() && !tiled_below(s_.sums.back())) accumulators_ = 1;
    std::int64_t body = accumulators_;
    for (int l = s_.block_begin; l < n_; ++l) body *= moves_output(l) ? 1 : level(l).constant_size;
    // Below another sparse loop the fibers are mostly short: more copies would only be stepped over.
    const bool nested = run_last_ > run_first_ ||
                        (s_.unroll_level > depth_ && level(s_.unroll_level - 1).level.kind != LevelKind::dense);
    if (nested && accumulators_ > 2) s_.chains = 1, s_.stream_level = -1;
    else if (accumulators_ <= 2 && body <= 8) s_.chains = 4;
    else if (accumulators_ <= 4 && body <= 32) s_.chains = 2;
    if (s_.chains == 1) s_.unroll_level = -1;
  }

  /// Where rows of several operands meet in each element; one alone keeps the memory busy by itself.
  void find_rows_ahead() {
    int rows = 0;
    for (const auto& a : g_.dense)
      if (a.operand >= 0 && s_.tile_index >= 0 && stride_along_index(a, s_.tile_index) != StrideKind::broadcast) ++rows;
    s_.rows_ahead = rows > 1 && s_.lanes > 1 && s_.block_begin == n_ && !g_.dense_driver && s_.early_level < 0;
  }

  /// Does an element's product, above which nothing is entered any more, have lanes?
  bool tiled_below(int sum) const {
    for (std::size_t a = 0; a + 1 < g_.dense.size(); ++a)
      if (s_.times[a] > sum && stride_along_index(g_.dense[a], s_.tile_index) != StrideKind::broadcast) return true;
    return false;
  }

  void find_launch() {
    Launch& launch = s_.launch;
    int first_clipped_dim = -1;
    if (n_ == 0) return;
    const LevelFacts& f = level(0);
    const bool splittable = f.level.kind == LevelKind::dense || f.level.kind == LevelKind::compressed;
    bool disjoint = false;
    for (int i : in_.einsum.output) disjoint = disjoint || g_.determines(0, i);
    if (splittable && disjoint && (f.level.unique || f.level.kind == LevelKind::dense || f.level.ordered)) {
      launch.level = f.number;
      launch.kind =
          f.level.kind == LevelKind::compressed && !f.level.unique ? Launch::outer_aligned : Launch::outer_uniform;
    } else if (const int l = n_ - 1; (!s_.accumulate || (s_.early_level >= 0 && depth_ == 0)) &&
                                     level(l).contiguous() && l > 0 && l < s_.block_begin &&
                                     window_dim(l, first_clipped_dim)) {
      launch.kind = Launch::output_window;
      launch.output_dim = first_clipped_dim;
      launch.window_clips = true;
      launch.granule = 8;
      // The window of the output stays in L1 while the levels above repeat over it.
      std::int64_t width = static_cast<std::int64_t>(size_of(in_.compute));
      for (int i : g_.free_out) width *= std::min<std::int64_t>(g_.extents[static_cast<std::size_t>(i)], 4096);
      launch.preferred = std::clamp<std::int64_t>(16384 / std::max<std::int64_t>(width, 1) / 8 * 8, 64, 65536);
      s_.window_level = l;
      if (s_.early_level >= 0) launch.preferred = 0;  // each row is stored once: no window has to stay
      return;
    } else if (!s_.accumulate && s_.tile_index >= 0) {
      launch.kind = Launch::output_window;
      for (std::size_t d = 0; d < in_.einsum.output.size(); ++d)
        if (in_.einsum.output[d] == s_.tile_index) launch.output_dim = static_cast<int>(d);
      launch.granule = std::int64_t{s_.lanes} * s_.vectors;
      s_.window_index = s_.tile_index;
      s_.sliced = splittable && g_.batches.empty();
      return;
    } else if (splittable) {
      launch.kind = Launch::outer_scatter;
      launch.level = f.number;
    } else {
      return;
    }
    launch.weight_level = weight_level(g_);
    if (launch.weight_level >= 0 && launch.kind == Launch::outer_uniform) launch.kind = Launch::outer_weighted;
  }

  /// Is level l's coordinate itself an output coordinate?
  bool window_dim(int l, int& output_dim) const {
    for (std::size_t o = 0; o < in_.einsum.output.size(); ++o) {
      const int d = g_.dim_of_index[static_cast<std::size_t>(in_.einsum.output[o])];
      if (d < 0 || dim(d).level_scale[static_cast<std::size_t>(l)] != 1) continue;
      bool alone = std::all_of(dim(d).batch_scale.begin(), dim(d).batch_scale.end(), [](auto x) { return x == 0; });
      for (int k = 0; k < n_; ++k) alone = alone && (k == l || !touches(d, k));
      // Another dimension of the output that follows the same index would have to be clipped as well: it is, by the
      // same level.
      if (alone) {
        output_dim = static_cast<int>(o);
        return true;
      }
    }
    return false;
  }

  /// The steps, outside in.
  void arrange() {
    auto& steps = s_.steps;
    const auto level_step = [&](int l) { steps.push_back({ScheduleStep::walk, l, l, -1, 0}); };
    const auto free_steps = [&](const std::vector<int>& indices) {
      for (int i : indices)
        if (i != s_.tile_index) steps.push_back({ScheduleStep::free_loop, -1, -1, i, 0});
    };
    const auto tile_step = [&] {
      if (s_.tile_index >= 0) steps.push_back({ScheduleStep::tile, -1, -1, s_.tile_index, 0});
      else if (s_.tile_level >= 0) steps.push_back({ScheduleStep::tile, s_.tile_level, -1, -1, 0});
    };
    const auto block_steps = [&](bool rows) {
      for (int l = s_.block_begin; l < n_; ++l) {
        if (l == s_.tile_level) continue;
        const bool row = std::find(s_.rows.begin(), s_.rows.end(), l) != s_.rows.end();
        if (row != rows) continue;
        std::int64_t copies = std::max<std::int64_t>(accumulators_, 1) * level(l).constant_size;
        steps.push_back({ScheduleStep::constant, l, l, -1, row || copies <= 64 ? 1 : 0});
      }
    };
    if (!s_.accumulate) {
      // The tile opens as soon as a dense operand that it can keep in registers is known.
      int tile_depth = n_;
      if (s_.tile_index >= 0 && in_.optimize) tile_depth = hoisted_depth(g_, s_);
      for (int l = 0; l < n_; ++l) {
        if (l == tile_depth) {
          free_steps(g_.free_out);
          tile_step();
        }
        if (l == s_.tile_level) {
          free_steps(g_.free_out);
          tile_step();
        } else if (l < s_.block_begin) {
          level_step(l);
        } else {
          steps.push_back({ScheduleStep::constant, l, l, -1, level(l).constant_size <= 8 ? 1 : 0});
        }
      }
      if (s_.tile_level < 0 && tile_depth == n_) {
        free_steps(g_.free_out);
        if (s_.tile_index >= 0) tile_step();
      }
      free_steps(g_.free_sum);
      return;
    }
    int l = 0;
    for (; l < depth_; ++l) {
      if (l == run_first_) {
        steps.push_back({ScheduleStep::run, run_first_, run_last_, -1, 0});
        l = run_last_;
      } else {
        level_step(l);
      }
    }
    if (s_.early_level >= 0) level_step(s_.early_level);
    if (s_.block_begin < n_) steps.push_back({ScheduleStep::split, -1, -1, -1, 0});
    free_steps(g_.free_out);
    for (std::size_t r = 0; r < s_.rows.size(); ++r)
      if (s_.row_pieces[r] != level(s_.rows[r]).constant_size)
        steps.push_back({ScheduleStep::row_tile, s_.rows[r], -1, -1, s_.row_pieces[r]});
    if (s_.tile_index >= 0) tile_step();
    steps.push_back({ScheduleStep::open, -1, -1, -1, 0});
    if (run_last_ >= 0) {  // the first sum, if it is of the run, stands above its slots
      if (!s_.sums.empty() && s_.sums.front() == run_last_ + 1)
        steps.push_back({ScheduleStep::sum, run_last_ + 1, -1, -1, 0});
      steps.push_back({ScheduleStep::slots, run_last_ + 1, -1, -1, 0});
    }
    for (; l < s_.block_begin; ++l) {
      if (std::find(s_.sums.begin(), s_.sums.end(), l) != s_.sums.end() && (run_last_ < 0 || l > run_last_ + 1))
        steps.push_back({ScheduleStep::sum, l, -1, -1, 0});
      if (l == s_.tile_level) tile_step();
      else if (l != s_.early_level) level_step(l);
    }
    block_steps(false);
    block_steps(true);
    if (s_.tile_level >= s_.block_begin) tile_step();
    free_steps(g_.free_sum);
  }

  void find_beta() {
    const bool narrow = in_.output.dtype != in_.compute;
    bool covers = s_.accumulate && run_first_ < 0 && s_.independent_batches &&
                  s_.launch.kind != Launch::outer_scatter &&
                  (s_.launch.kind != Launch::output_window || s_.early_level >= 0);
    // Every output element must be met exactly once: dense levels above, each a digit of one output dimension.
    for (int l = 0; l < n_ && covers; ++l) {
      const bool outside = l < depth_ || std::find(s_.rows.begin(), s_.rows.end(), l) != s_.rows.end() ||
                           (l == s_.tile_level && !s_.tile_sums) || l == s_.early_level;
      if (!outside) continue;
      bool digit = false;
      for (int i : in_.einsum.output) digit = digit || g_.determines(l, i);
      covers = level(l).contiguous() && digit && moves_output(l);
    }
    for (int d = 0; d < static_cast<int>(g_.dims.size()) && covers; ++d) {
      // A repeated index that is tested above the accumulators would leave elements out.
      const int index = dim(d).index;
      if (index < 0 || g_.dim_of_index[static_cast<std::size_t>(index)] == d) continue;
      covers = !g_.in_output(index);
    }
    for (int d = 0; d < static_cast<int>(g_.dims.size()) && covers; ++d) {
      // So would a dimension of extent 1 that broadcasts, if a level above walks it in pieces.
      if (dim(d).index >= 0) continue;
      for (int l = 0; l < n_; ++l)
        if (touches(d, l) && (l < depth_ || std::find(s_.rows.begin(), s_.rows.end(), l) != s_.rows.end()))
          covers = false;
    }
    s_.applies_beta = covers;
    if (s_.window_level >= 0 && s_.early_level < 0 && s_.independent_batches) {
      s_.applies_beta = s_.initializes = !narrow || !is_narrow_float();
      if (narrow) s_.applies_beta = s_.initializes = false;
    }
    s_.wide_output = narrow && !s_.applies_beta;
  }
  bool is_narrow_float() const { return is_float(in_.output.dtype) && size_of(in_.output.dtype) < 4; }

  const Graph& g_;
  const LowerInput& in_;
  int n_;
  int depth_ = 0, run_first_ = -1, run_last_ = -1;
  std::int64_t accumulators_ = 1;
  ProductSchedule s_;
};

}  // namespace

ProductSchedule make_schedule(const Graph& graph) { return ProductScheduler(graph).make(); }

}  // namespace strata::compiler
