// Which elements of a tensor go to which part of a sum.
#include <algorithm>

#include "backend/steps.h"
#include "convert/drop_zeros.h"
#include "convert/radix_sort.h"

namespace strata::conversion {
namespace {

bool has_coordinates(LevelKind k) { return storage::has_crd(k); }

/// What one unit of a part costs: the smallest thing that its last level with coordinates can leave out.
struct StoredUnit {
  int level = -1;     ///< that level; -1: everything is stored anyway
  double crd = 0;     ///< bytes of coordinates
  double slots = 1;   ///< slots that come with it
  bool free = false;  ///< its slots exist whether used or not (below dense levels, structured and padded)
};

StoredUnit unit_of(const Format& f, std::span<const LevelRange> ranges, DType crd_dtype) {
  StoredUnit u;
  for (int l = 0; l < f.num_levels(); ++l)
    if (has_coordinates(f.level(l).kind)) u.level = l;
  const double width = static_cast<double>(size_of(crd_dtype));
  for (int l = u.level; l >= 0; --l) {
    const Level& level = f.level(l);
    const auto& r = ranges[static_cast<std::size_t>(l)];
    const int bits = packed_bits(level, r.size);
    u.crd += level.kind == LevelKind::bitmap ? 0.125 : bits ? bits / 8.0 : width;
    if (level.kind != LevelKind::singleton) break;  // a run of singletons repeats the coordinates above
  }
  for (int l = u.level + 1; l < f.num_levels(); ++l)
    u.slots *= static_cast<double>(ranges[static_cast<std::size_t>(l)].size);
  if (u.level >= 0) {
    const LevelKind kind = f.level(u.level).kind;
    u.free = kind == LevelKind::structured || kind == LevelKind::padded ||
             (levels::is_registered(kind) && !storage::has_pos(kind));
    for (int l = 0; l < u.level; ++l) u.free = u.free && !has_coordinates(f.level(l).kind);
  }
  return u;
}

/// Elements in runs of equal coordinates in the first levels of a part.
class PrefixGroups {
 public:
  /// `chosen`: indices into `elements`, which are sorted by dimensions.
  PrefixGroups(const Elements& elements, const PodArray<std::int64_t>& chosen, const Format& part, const Shape& shape)
      : levels_(part, shape, DType::u8) {
    levels_.reserve(static_cast<std::int64_t>(chosen.size()));
    constexpr std::size_t step = 1024;
    const std::size_t rank = elements.ranges().size();
    std::vector<std::vector<std::int64_t>> columns(rank, std::vector<std::int64_t>(step));
    std::vector<const std::int64_t*> dims(rank);
    for (std::size_t d = 0; d < rank; ++d) dims[d] = columns[d].data();
    const std::vector<char> none(step, 0);
    for (std::size_t begin = 0; begin < chosen.size(); begin += step) {
      poll_at(static_cast<std::int64_t>(begin));
      const std::size_t n = std::min(step, chosen.size() - begin);
      for (std::size_t d = 0; d < rank; ++d)
        for (std::size_t i = 0; i < n; ++i) columns[d][i] = elements.coordinate(d, chosen[begin + i]);
      levels_.append({static_cast<int>(n), dims.data(), none.data()});
    }
  }

  /// Calls f(e, n) for each element: n agree with it in the levels [0, count).
  template <class F> void each_count(int count, F&& f) const {
    const auto& layout = levels_.layout();
    const std::int64_t n = levels_.size();
    const int shift = count > 0 ? layout.fields[static_cast<std::size_t>(count) - 1].shift : 0;
    const int below_first = count > 0 ? layout.fields[0].shift - shift : 0;
    const bool one_word = count > 0 && layout.used.size() == 1 && n < UINT32_MAX;
    const auto few = [&](int bits) {
      return bits < 32 && (std::int64_t{1} << bits) <= std::max<std::int64_t>(4 * n, 1 << 16);
    };
    // A counter for each unit; or for each unit below one coordinate of the first level, by which elements often
    // ascend.
    const bool whole = one_word && few(layout.used[0] - shift);
    if (!whole && !(one_word && few(below_first) && ascends(layout.fields[0].shift)))
      return each(count, [&](const std::vector<std::size_t>& members) {
        for (auto e : members) f(e, members.size());
      });
    const int bits = whole ? layout.used[0] - shift : below_first;
    PodArray<std::uint32_t> counts(std::size_t{1} << bits);
    std::fill(counts.begin(), counts.end(), 0);
    const auto unit = [&](std::int64_t e) {
      return static_cast<std::size_t>(levels_.key(e) >> shift & ((std::uint64_t{1} << bits) - 1));
    };
    for (std::int64_t begin = 0, end = 0; begin < n; begin = end) {
      const std::uint64_t first = levels_.key(begin) >> layout.fields[0].shift;
      for (end = begin; end < n && (whole || levels_.key(end) >> layout.fields[0].shift == first); ++end) {
        poll_at(end);
        ++counts[unit(end)];
      }
      for (std::int64_t e = begin; e < end; ++e) {
        poll_at(e);
        f(static_cast<std::size_t>(e), static_cast<std::size_t>(counts[unit(e)]));
      }
      if (!whole)
        for (std::int64_t e = begin; e < end; ++e) counts[unit(e)] = 0;
    }
  }

  /// Calls f(members) for each run that agrees in the levels [0, count); members index `chosen`, in level order.
  template <class F> void each(int count, F&& f) const {
    const auto n = static_cast<std::size_t>(levels_.size());
    if (levels_.sorted()) return runs(n, [](std::size_t e) { return e; }, count, f);
    // Sorting by all levels makes the members of a run ascend in the levels that follow.
    const KeyLayout layout(levels_.ranges());
    PodArray<SortItem> items(n), spare(n);
    for (std::size_t e = 0; e < n; ++e) items[e] = {0, e};
    for (std::size_t w = layout.used.size(); w-- > 0;) {
      for (std::size_t e = 0; e < n; ++e) {
        SortItem& item = items[e];
        poll_at(static_cast<std::int64_t>(e));
        item.key = 0;
        for (std::size_t l = 0; l < layout.fields.size(); ++l) {
          const auto& field = layout.fields[l];
          if (field.word == static_cast<int>(w) && field.bits)
            item.key |=
                static_cast<std::uint64_t>(levels_.coordinate(l, static_cast<std::int64_t>(item.index)) - field.lo)
                << field.shift;
        }
      }
      radix_sort(items, spare, 0, layout.used[w]);
    }
    runs(n, [&](std::size_t e) { return static_cast<std::size_t>(items[e].index); }, count, f);
  }
  bool same(std::size_t a, std::size_t b, int count) const {
    for (int l = 0; l < count; ++l)
      if (levels_.coordinate(static_cast<std::size_t>(l), static_cast<std::int64_t>(a)) !=
          levels_.coordinate(static_cast<std::size_t>(l), static_cast<std::int64_t>(b)))
        return false;
    return true;
  }

 private:
  /// `at`: the e-th element in level order.
  template <class At, class F> void runs(std::size_t n, const At& at, int count, const F& f) const {
    std::vector<std::size_t> members;
    for (std::size_t e = 0; e < n; ++e) {
      poll_at(static_cast<std::int64_t>(e));
      if (e > 0 && !same(at(e), at(e - 1), count)) {
        f(members);
        members.clear();
      }
      members.push_back(at(e));
    }
    if (!members.empty()) f(members);
  }
  /// Do the elements ascend in what stands above these bits of their keys?
  bool ascends(int shift) const {
    for (std::int64_t e = 1; e < levels_.size(); ++e) {
      poll_at(e);
      if (levels_.key(e) >> shift < levels_.key(e - 1) >> shift) return false;
    }
    return true;
  }

  Elements levels_;
};

class PartSplitter {
 public:
  PartSplitter(const Elements& elements, std::vector<Format>& parts, const ConversionTarget& target)
      : elements_(elements), parts_(parts), target_(target) {
    where_.resize(static_cast<std::size_t>(elements.size()));
    std::fill(where_.begin(), where_.end(), static_cast<std::uint8_t>(parts.size() - 1));
    left_.resize(where_.size());
    for (std::size_t e = 0; e < left_.size(); ++e) left_[e] = static_cast<std::int64_t>(e);
  }

  PodArray<std::uint8_t> run() {
    for (std::size_t k = 0; k + 1 < parts_.size(); ++k) {
      taken_.resize(left_.size());
      std::fill(taken_.begin(), taken_.end(), std::uint8_t{0});
      const Split& split = target_.options.split;
      const auto kind = k == 0 ? split.kind : Split::automatic;
      if (kind == Split::rows) take_rows(split.k);
      else if (kind == Split::band) take_band(split.lo, split.hi);
      else if (kind == Split::blocks)
        take_units(k, [&](double count, const StoredUnit& u) { return count >= split.fill * u.slots; });
      else if (kind == Split::mask) take_mask(split.pattern);
      else take_automatically(k);
      std::size_t rest = 0;
      for (std::size_t e = 0; e < left_.size(); ++e) {
        poll_at(static_cast<std::int64_t>(e));
        if (taken_[e]) where_[static_cast<std::size_t>(left_[e])] = static_cast<std::uint8_t>(k);
        else left_[rest++] = left_[e];
      }
      left_.resize(rest);
    }
    return std::move(where_);
  }

 private:
  std::int64_t at(std::size_t d, std::size_t e) const { return elements_.coordinate(d, left_[e]); }
  std::size_t rank() const { return elements_.ranges().size(); }
  double width() const { return static_cast<double>(size_of(target_.options.dtype.value_or(elements_.dtype()))); }

  void take_rows(std::int64_t k) {
    if (rank() == 0)
      throw TensorError(
          {.what = "a scalar has no rows to split", .expected = "a tensor of one dimension or more", .got = "()"});
    std::int64_t in_row = 0;
    for (std::size_t e = 0; e < left_.size(); ++e) {
      poll_at(static_cast<std::int64_t>(e));
      bool same = e > 0;
      for (std::size_t d = 0; same && d + 1 < rank(); ++d) same = at(d, e) == at(d, e - 1);
      if (!same) in_row = 0;
      taken_[e] = in_row++ < k;
    }
  }

  void take_band(std::int64_t lo, std::int64_t hi) {
    if (rank() < 2)
      throw TensorError({.what = "a band needs rows and columns",
                         .expected = "two dimensions or more",
                         .got = std::to_string(rank())});
    for (std::size_t e = 0; e < left_.size(); ++e) {
      poll_at(static_cast<std::int64_t>(e));
      const std::int64_t diagonal = at(rank() - 1, e) - at(rank() - 2, e);
      taken_[e] = lo <= diagonal && diagonal <= hi;
    }
  }

  void take_mask(const std::optional<Tensor>& pattern) {
    if (!pattern) throw TensorError({.what = "split by a mask without a mask", .expected = "a tensor", .got = "none"});
    if (pattern->shape() != target_.shape)
      throw TensorError(
          {.what = "the mask has another shape", .expected = "the tensor's shape", .got = pattern->type().to_string()});
    // Of truth values the true ones count, whatever stores them; of others what is stored.
    const bool boolean = pattern->dtype() == DType::boolean;
    const bool everywhere = boolean && !pattern->fill().is_zero();
    const Tensor listed =
        boolean ? convert(*pattern, lists_for(pattern->shape(), pattern->nse()), {.zeros = Zeros::drop}) : *pattern;
    Elements mask(elements_.format(), target_.shape, pattern->dtype());
    stored_elements(listed, Zeros::automatic).emit([&](const ElementChunk& chunk) { mask.append(chunk); });
    mask.sort_and_combine();
    std::int64_t m = 0;
    for (std::size_t e = 0; e < left_.size(); ++e) {
      poll_at(static_cast<std::int64_t>(e));
      const auto order = [&] {  // of mask element m against this one
        for (std::size_t d = 0; d < rank(); ++d)
          if (const auto x = mask.coordinate(d, m), y = at(d, e); x != y) return x < y ? -1 : 1;
        return 0;
      };
      while (m < mask.size() && order() < 0) ++m;
      taken_[e] = (m < mask.size() && order() == 0) != everywhere;
    }
  }

  template <class Worth> void take_units(std::size_t k, Worth worth) {
    const StoredUnit u = unit_of(parts_[k], parts_[k].level_ranges(target_.shape), target_.crd_dtype);
    PrefixGroups(elements_, left_, parts_[k], target_.shape).each_count(u.level + 1, [&](std::size_t e, std::size_t n) {
      taken_[e] = worth(static_cast<double>(n), u);
    });
  }

  /// What an element costs in the last part.
  double last_cost() const {
    const Format& last = parts_.back();
    const StoredUnit u = unit_of(last, last.level_ranges(target_.shape), target_.crd_dtype);
    return u.crd + u.slots * width();
  }

  void take_automatically(std::size_t k) {
    const Format& part = parts_[k];
    const auto ranges = part.level_ranges(target_.shape);
    const StoredUnit u = unit_of(part, ranges, target_.crd_dtype);
    const double unit_cost = u.crd + u.slots * width(), element_cost = last_cost();
    if (u.level < 0) {
      std::fill(taken_.begin(), taken_.end(), std::uint8_t{1});
      return;
    }
    const Level& level = part.level(u.level);
    if (level.kind != LevelKind::structured && level.kind != LevelKind::padded) {
      take_units(k, [&](double count, const StoredUnit&) { return count * element_cost >= unit_cost; });
      for (int l = 0; l < u.level; ++l)
        if (has_slots(part.level(l))) leave_room(part, l);
      return;
    }

    // A strip of slots below each parent: its first units fill them, the rest goes on.
    const PrefixGroups groups(elements_, left_, part, target_.shape);
    const auto units = [&](const std::vector<std::size_t>& members, auto&& f) {  // f(number of the unit, member)
      std::int64_t number = -1;
      for (std::size_t m = 0; m < members.size(); ++m) {
        if (m == 0 || !groups.same(members[m], members[m - 1], u.level + 1)) ++number;
        f(number, members[m]);
      }
      return number + 1;
    };
    std::int64_t slots = level.arg;
    if (level.kind == LevelKind::padded && slots == 0) {
      // One more slot per parent pays as long as the elements that it takes would cost as much elsewhere.
      double parents = 1;
      for (int l = 0; l < u.level; ++l) parents *= static_cast<double>(ranges[static_cast<std::size_t>(l)].size);
      std::vector<double> in_column;  // elements whose unit is the c-th of its row
      groups.each(u.level, [&](const std::vector<std::size_t>& members) {
        units(members, [&](std::int64_t c, std::size_t) {
          if (static_cast<std::size_t>(c) == in_column.size()) in_column.push_back(0);
          ++in_column[static_cast<std::size_t>(c)];
        });
      });
      while (static_cast<std::size_t>(slots) < in_column.size() &&
             in_column[static_cast<std::size_t>(slots)] * element_cost >= parents * unit_cost)
        ++slots;
      parts_[k] = with_argument(part, u.level, std::max<std::int64_t>(slots, 0));
      if (slots == 0) return;  // nothing is worth a slot
    }
    groups.each(u.level, [&](const std::vector<std::size_t>& members) {
      if (!u.free && static_cast<double>(members.size()) * element_cost < static_cast<double>(slots) * unit_cost)
        return;
      units(members, [&](std::int64_t c, std::size_t e) { taken_[e] = c < slots; });
    });
  }

  /// Is there a fixed number of slots below each parent?
  static bool has_slots(const Level& level) {
    return level.arg > 0 && (level.kind == LevelKind::structured || level.kind == LevelKind::padded);
  }

  /// Of what was taken, units of a level beyond the slots of their parent are left to the parts behind.
  void leave_room(const Format& part, int level) {
    const PrefixGroups groups(elements_, left_, part, target_.shape);
    groups.each(level, [&](const std::vector<std::size_t>& members) {
      std::int64_t units = 0;
      std::size_t before = 0;  // the last that was taken
      for (auto e : members) {
        if (!taken_[e]) continue;
        if (units == 0 || !groups.same(e, before, level + 1)) ++units;
        before = e;
        if (units > part.level(level).arg) taken_[e] = 0;
      }
    });
  }

  const Elements& elements_;
  std::vector<Format>& parts_;
  const ConversionTarget& target_;
  PodArray<std::uint8_t> where_;
  PodArray<std::int64_t> left_;  ///< elements without a part so far, in order
  PodArray<std::uint8_t> taken_;
};

}  // namespace

PodArray<std::uint8_t> split_elements(const Elements& elements, std::vector<Format>& parts,
                                      const ConversionTarget& target) {
  return PartSplitter(elements, parts, target).run();
}

}  // namespace strata::conversion
