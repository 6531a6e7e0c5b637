#include "plan/stats.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "levels/level_storage.h"
#include "tensor/same_storage.h"

namespace strata::planning {
double rounded(double count) {
  if (count <= 0) return 0;
  if (std::isinf(count)) return count;
  int exponent = 0;
  const double mantissa = std::frexp(count, &exponent);  // 0.5 <= mantissa < 1
  return std::ldexp(1.0, mantissa < std::numbers::sqrt2 / 2 ? exponent - 1 : exponent);
}

double places_of(const Shape& shape) {
  double out = 1;
  for (const auto n : shape) out *= static_cast<double>(n);
  return out;
}

namespace {

/// Elements fall where they like: a level has as many positions as it has places, or as there are elements.
std::vector<double> likely_positions(const Format& f, const std::vector<LevelRange>& ranges, double stored) {
  std::vector<double> out;
  double places = 1, slots = 1;
  for (int l = 0; l < f.num_levels(); ++l) {
    const auto size = static_cast<double>(ranges[static_cast<std::size_t>(l)].size);
    places *= std::max(1.0, size);
    const LevelKind kind = f.level(l).kind;
    const bool whole = kind == LevelKind::dense || kind == LevelKind::range || kind == LevelKind::batch;
    slots = whole ? slots * size : std::min({places, std::max(stored, 1.0)});
    out.push_back(slots);
  }
  return out;
}

std::vector<double> positions_of(const Part& part) {
  std::vector<double> out;
  if (part.format.num_batch_levels() > 0)
    return likely_positions(part.format, part.ranges, static_cast<double>(part.values.size));
  const auto counts = level_counts(part, level_views(part));  // behind one position of the root
  for (std::size_t l = 1; l < counts.size(); ++l) out.push_back(static_cast<double>(counts[l]));
  return out;
}

Stats stats_of(const Tensor& t, std::span<const double> positions) {
  const auto stored = static_cast<double>(t.nse());
  Stats out{.stored = rounded(stored), .slots = 0, .children = {}};
  double slots = 0;
  // (Batches would have to be walked, and nobody asks how many slots they have.)
  if (t.format().num_batch_levels() > 0) slots = stored;
  else
    for (int k = 0; k < t.num_parts(); ++k) slots += static_cast<double>(used_values(t.part(k)));
  out.slots = rounded(slots);
  out.each_slot = slots == stored;
  out.full = stored == places_of(t.shape());
  for (const double n : positions) out.children.push_back(rounded(n));
  return out;
}

struct CountedMemo : PatternMemo {
  CountedPattern counted;
  void forget_tensors() const override { counted.view.set(nullptr); }
};

}  // namespace

std::shared_ptr<const CountedPattern> counted(const Tensor& t) {
  const LastMade<PatternMemo>& memo = Tensor::Impl::of(t).memo;
  auto known = std::static_pointer_cast<const CountedMemo>(memo.get());
  if (!known) {
    auto made = std::make_shared<CountedMemo>();
    CountedPattern& c = made->counted;
    if (t.num_parts() == 1) c.positions = positions_of(t.part());
    c.stats = stats_of(t, c.positions);
    memo.set(made);
    known = std::move(made);
  }
  return {known, &known->counted};
}

Stats stats_for(const TensorType& type, double stored) {
  const double all = places_of(type.shape);
  Stats out{.stored = rounded(std::min(stored, all)), .slots = 0, .children = {}};
  out.full = stored >= all;
  out.slots = out.stored;
  if (type.format.is_all_dense()) return {.stored = rounded(all), .slots = rounded(all), .children = {}, .full = true};
  if (type.format.num_parts() != 1) return out;
  double slots = 1;
  for (const double n : likely_positions(type.format, type.format.level_ranges(type.shape), stored)) {
    slots = n;
    out.children.push_back(rounded(n));
  }
  out.slots = std::max(out.stored, rounded(slots));
  out.each_slot = !type.format.can_hold_fill();
  return out;
}

Stats stats_for(const TensorType& type) {
  return stats_for(type, 16 * (type.shape.empty() ? 1 : static_cast<double>(type.shape[0])));
}

double bytes_of(const TensorType& type, const Stats& stats) {
  double out = type.shared_value ? 0 : stats.slots * static_cast<double>(size_of(type.dtype));
  if (type.format.is_all_dense() || type.format.num_parts() != 1) return out;
  const auto pos = static_cast<double>(size_of(type.pos_dtype)), crd = static_cast<double>(size_of(type.crd_dtype));
  double parents = 1;
  for (int l = 0; l < type.format.num_levels(); ++l) {
    const auto at = static_cast<std::size_t>(l);
    const double positions = at < stats.children.size() ? stats.children[at] : stats.slots;
    const LevelKind kind = type.format.level(l).kind;
    if (storage::has_pos(kind)) out += parents * pos;
    if (storage::has_crd(kind)) out += positions * crd;
    parents = positions;
  }
  return out;
}

bool share_pattern(const Tensor& a, const Tensor& b) {
  if (a.same_object(b)) return a.num_parts() == 1;
  const TensorType &s = a.type(), &t = b.type();
  if (!(s.format == t.format) || s.shape != t.shape || s.pos_dtype != t.pos_dtype || s.crd_dtype != t.crd_dtype ||
      a.num_parts() != 1)
    return false;
  const Part &p = a.part(), &q = b.part();
  for (std::size_t l = 0; l < p.levels.size(); ++l)
    if (p.levels[l].pos.data != q.levels[l].pos.data || p.levels[l].crd.data != q.levels[l].crd.data) return false;
  return true;
}

bool have_one_pattern(const Tensor& a, const Tensor& b) {
  return share_pattern(a, b) ||
         (a.num_parts() == 1 && a.format() == b.format() && a.shape() == b.shape() && same_levels(a.part(), b.part()));
}

}  // namespace strata::planning
