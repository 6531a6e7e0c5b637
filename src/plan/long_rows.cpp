// How many stored elements come to one place of the result: where float32 would keep half the digits of their sum.
#include "plan/long_rows.h"

#include <algorithm>
#include <bit>

#include "base/part_dtype.h"
#include "format/recognise.h"
#include "levels/index_view.h"
#include "plan/stats.h"
#include "tensor/part_view.h"
#include "tensor/tensor_impl.h"

namespace strata::planning {
namespace {

using i64 = std::int64_t;
using storage::LevelView;

/// The stored elements of one part, or of one batch of it, and which levels say where in the result they are added.
class Stored {
 public:
  Stored(const Part& part, const std::vector<char>& in_output, i64 batch)
      : format_(part.format),
        top_(part.format.num_batch_levels()),
        views_(level_views(part, batch)),
        counts_(level_counts(part, views_)) {
    for (int l = 0; l < format_.num_levels(); ++l) {
      int of_output = 0, of_sums = 0;
      count(format_.level(l).expr, in_output, of_output, of_sums);
      places_.push_back(of_sums == 0);
      mixed_.push_back(of_output > 0 && of_sums > 0);
    }
  }

  /// Are there places where more than long_sum elements meet? Of scattered ones a sample tells.
  bool meet() const {
    const int n = format_.num_levels();
    if (counts_.back() <= long_sum) return false;
    int prefix = top_;
    while (prefix < n && places_[at(prefix)]) ++prefix;
    if (prefix == n) return false;
    if (prefix == top_) return mixed_[at(top_)] ? counts_[at(top_ + 1)] > long_sum : crowded();  // (of a diagonal one)
    bool unique = true, ordered = true;
    for (int l = top_; l < prefix; ++l) {
      unique = unique && format_.level(l).unique;
      ordered = ordered && format_.level(l).ordered;
    }
    if (unique) return long_row(prefix);
    if (ordered && format_.level(top_).kind == LevelKind::compressed) return long_run(prefix);
    return crowded();
  }

 private:
  static std::size_t at(int l) { return static_cast<std::size_t>(l); }

  void count(int node, const std::vector<char>& in_output, int& of_output, int& of_sums) const {
    const ExprNode& e = format_.spec().exprs[at(node)];
    if (e.op == ExprNode::dim) {
      ++(in_output[at(e.a)] ? of_output : of_sums);
      return;
    }
    count(e.a, in_output, of_output, of_sums);
    if (e.op == ExprNode::add || e.op == ExprNode::sub) count(e.b, in_output, of_output, of_sums);
  }

  /// Behind it, levels of places alone, whose coordinates differ: of what stands in front of them, one element has one
  /// place once at most.
  int end_of_sums() const {
    int end = format_.num_levels();
    while (places_[at(end - 1)] && format_.level(end - 1).unique) --end;
    return end;
  }
  /// The first position in the level in front of `end`, below parent `position` of this level.
  i64 first_below(int level, i64 position, int end) const {
    for (int l = level; l < end; ++l) {
      const LevelView& v = views_[at(l)];
      if (storage::has_pos(v.level.kind)) position = v.pos[position];
      else if (v.level.kind != LevelKind::singleton) position *= v.width();
    }
    return position;
  }

  /// Rows are the parents of this level. Several are looked at together, as most have few elements.
  bool long_row(int level) const {
    const int below = end_of_sums();
    const i64 rows = counts_[at(level)], limit = limit_between(level, below),
              together = std::max<i64>(1, rows * (limit / 4) / std::max<i64>(1, counts_[at(below)]));
    i64 before = first_below(level, 0, below);
    for (i64 row = 0; row < rows; row += together) {
      const i64 stop = std::min(rows, row + together), end = first_below(level, stop, below);
      if (end - before > limit)
        for (i64 r = row; r < stop; ++r)
          if (first_below(level, r + 1, below) - first_below(level, r, below) > limit) return true;
      before = end;
    }
    return false;
  }

  /// Equal coordinates follow each other: a long run passes two of the places that are looked at.
  bool long_run(int prefix) const {
    constexpr i64 step = long_sum / 2;
    const i64 n = counts_[at(top_ + 1)];
    for (i64 k = 0; k + step < n; k += step) {
      bool same = true;
      for (int l = top_; l < prefix; ++l)
        same = same && views_[at(l)].coordinate(k) == views_[at(l)].coordinate(k + step);
      if (same) return true;
    }
    return false;
  }

  /// Positions of a row in the level in front of `end`: where a level of places has always as many, all of them, they
  /// lie in as many.
  i64 limit_between(int level, int end) const {
    i64 limit = long_sum;
    for (int l = level; l < end; ++l)
      if (places_[at(l)] && format_.level(l).kind == LevelKind::dense) limit *= std::max<i64>(1, views_[at(l)].width());
    return limit;
  }

  /// Elements lie anywhere: is there a coordinate that a sample meets often?
  bool crowded() const {
    int level = format_.num_levels() - 1;
    const auto tells = [&](int l) {
      const LevelKind k = format_.level(l).kind;
      return places_[at(l)] && (k == LevelKind::compressed || k == LevelKind::singleton || k == LevelKind::padded ||
                                k == LevelKind::structured);
    };
    while (level >= 0 && !tells(level)) --level;
    if (level < 0) return true;  // nothing tells without walking
    const LevelView& v = views_[at(level)];
    const i64 n = counts_[at(level) + 1];
    i64 each = counts_.back() / std::max<i64>(1, n);
    for (int l = level + 1; l < format_.num_levels(); ++l)  // those of a block come to several places
      if (places_[at(l)] && format_.level(l).kind == LevelKind::dense) each /= std::max<i64>(1, views_[at(l)].width());
    each = std::max<i64>(1, each);
    const bool in_groups = format_.spec().exprs[at(format_.level(level).expr)].op == ExprNode::mod;
    if (v.level.kind == LevelKind::structured && in_groups) {  // which of m tells little without the group they are in
      const i64 groups = level > 0 && places_[at(level - 1)] ? views_[at(level - 1)].width() : 1, slots = v.width();
      return is_often(n, each, [&](i64 k) { return v.coordinate(k) * groups + k / slots % groups; });
    }
    if (v.bits > 0) return is_often(n, each, [&](i64 k) { return v.coordinate(k); });
    return with_index_type(v.crd.dtype, [&]<class C>(C) {
      return is_often(
          n, each, [&](i64 k) { return static_cast<i64>(load_as<C>(v.crd.data + k * static_cast<i64>(sizeof(C)))); });
    });
  }

  /// `each`: elements at one of the n positions that meet at one place. What is met 8 times in every 128th of the
  /// elements stands for half of a long sum or more; rows of a hundred elements are hardly ever met so often.
  template <class Coordinate> static bool is_often(i64 n, i64 each, const Coordinate& coordinate) {
    constexpr i64 often = 8, reads = 16;  // of a long sum
    const i64 step = std::max<i64>(1, long_sum / reads / each), samples = n / step;
    // At no regular places: columns may be regular too, as where each ends in the same row.
    const auto sample = [&](i64 s) {
      const std::uint64_t random = static_cast<std::uint64_t>(s + 1) * 0x9E3779B97F4A7C15u >> 40;
      return coordinate(s * step + static_cast<i64>(random * static_cast<std::uint64_t>(step) >> 24));
    };
    const int bits = std::bit_width(static_cast<std::uint64_t>(16 * samples + 64));
    std::vector<std::uint8_t> seen(std::size_t{1} << bits);
    for (i64 s = 0; s < samples; ++s) {
      const i64 c = sample(s);
      std::uint8_t& count = seen[static_cast<std::uint64_t>(c) * 0xD6E8FEB86659FD93u >> (64 - bits)];
      if (++count % often != 0) continue;
      i64 same = 0;  // others may share its place in the table
      for (i64 r = 0; r <= s && same < often; ++r) same += sample(r) == c;
      if (same == often) return true;
    }
    return false;
  }

  const Format& format_;
  int top_;  ///< its first levels are those of batches
  std::vector<LevelView> views_;
  std::vector<i64> counts_;
  std::vector<char> places_,  ///< per level: it speaks of places of the result alone
      mixed_;                 ///< ... and of what is summed as well
};

bool has_long_rows(const Part& part, const std::vector<char>& in_output) {
  if (!part.strides.empty()) return false;
  const Format& f = part.format;
  for (int l = 0; l < f.num_batch_levels(); ++l)
    if (const int d = plain_dim(f, l); d < 0 || !in_output[static_cast<std::size_t>(d)]) return true;
  // (Of many batches that are small nothing is counted.)
  if (part.values_batch_stride > 0 && part.values_batch_stride <= long_sum) return false;
  const auto moves = [](i64 stride) { return stride != 0; };
  const bool one = std::ranges::none_of(part.pos_strides, moves) && std::ranges::none_of(part.crd_strides, moves);
  for (i64 b = 0; b < (one ? 1 : part.num_batches); ++b)
    if (Stored(part, in_output, b).meet()) return true;
  return false;
}

}  // namespace

bool has_long_rows(const Tensor& t, const std::vector<char>& in_output) {
  if (t.format().is_all_dense() || (stored_values(t) <= long_sum && !t.type().shared_value)) return false;
  if (t.format().is_unique()) {
    double summed = 1;
    for (std::size_t d = 0; d < in_output.size(); ++d)
      if (!in_output[d]) summed *= static_cast<double>(t.shape()[d]);
    if (summed <= static_cast<double>(long_sum)) return false;
  }
  const auto known = counted(t);
  if (const auto last = known->long_rows.get(); last && last->in_output == in_output) return last->found;
  bool found = false;
  for (int k = 0; k < t.num_parts() && !found; ++k) found = has_long_rows(t.part(k), in_output);
  known->long_rows.set(std::make_shared<const CountedPattern::LongRows>(in_output, found));
  return found;
}

std::optional<SummedOperand> may_have_long_rows(const Product& p) {
  if (wide_sums(p.compute) == p.compute) return std::nullopt;
  const auto walked = [](const TensorType& t) { return !is_plain_dense(t); };
  if (std::ranges::count_if(p.operands, walked) != 1) return std::nullopt;
  const auto k = static_cast<std::size_t>(std::ranges::find_if(p.operands, walked) - p.operands.begin());
  SummedOperand out{k, {}};
  std::vector<i64> summed;
  for (std::size_t d = 0; d < p.einsum.operands[k].size(); ++d) {
    out.in_output.push_back(std::ranges::count(p.einsum.output, p.einsum.operands[k][d]) > 0);
    if (!out.in_output.back()) summed.push_back(p.operands[k].shape[d]);
  }
  if (summed.empty() || checked_product(summed).value_or(INT64_MAX) <= long_sum) return std::nullopt;
  return out;
}

}  // namespace strata::planning
