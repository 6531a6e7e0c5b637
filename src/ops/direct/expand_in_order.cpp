// A(i + r, j + s) row by row: what a shift of a row is, is a row.
#include <algorithm>
#include <cstring>
#include <utility>

#include "backend/steps.h"
#include "base/checked.h"
#include "ops/convert_elements.h"
#include "ops/direct/expand.h"
#include "ops/direct/unit.h"
#include "ops/pod_array.h"

namespace strata::direct {
namespace {

using i64 = std::int64_t;

constexpr std::size_t most_shifts = 256;  ///< of a dimension

/// The indices of one dimension: the coordinate is shift + coefficient * x, x counted by the index that goes furthest, and a
/// shift for each choice of the others.
struct Dimension {
  std::size_t index = 0;
  i64 coefficient = 1, extent = 0;
  std::vector<std::size_t> others;
  std::vector<std::vector<i64>> chosen;  ///< per shift: the values of the others, ascending
  std::vector<i64> shifts;
};

std::optional<std::vector<Dimension>> dimensions(const Affine& a) {
  std::vector<char> seen(a.names.size());
  std::vector<Dimension> out;
  for (std::size_t d = 0; d < a.terms.size(); ++d) {
    auto terms = a.terms[d];
    if (terms.empty()) return std::nullopt;
    for (const auto& t : terms)
      if (std::exchange(seen[t.index], 1)) return std::nullopt;
    const auto further = [&](const auto& x, const auto& y) { return a.extents[x.index] < a.extents[y.index]; };
    std::iter_swap(terms.begin(), std::max_element(terms.begin(), terms.end(), further));
    Dimension& out_d = out.emplace_back();
    out_d.index = terms[0].index;
    out_d.coefficient = terms[0].coefficient;
    out_d.extent = a.extents[terms[0].index];
    if (out_d.coefficient <= 0) return std::nullopt;  // coordinates would descend
    out_d.chosen = {{}};
    out_d.shifts = {a.constants[d]};
    for (std::size_t k = 1; k < terms.size(); ++k) {
      const i64 n = a.extents[terms[k].index];
      if (checked_mul(static_cast<i64>(out_d.shifts.size()), n).value_or(INT64_MAX) > static_cast<i64>(most_shifts)) return std::nullopt;
      out_d.others.push_back(terms[k].index);
      std::vector<std::vector<i64>> chosen;
      std::vector<i64> shifts;
      for (std::size_t s = 0; s < out_d.shifts.size(); ++s)
        for (i64 x = 0; x < n; ++x) {
          chosen.push_back(out_d.chosen[s]);
          chosen.back().push_back(x);
          shifts.push_back(out_d.shifts[s] + terms[k].coefficient * x);
        }
      out_d.chosen = std::move(chosen);
      out_d.shifts = std::move(shifts);
    }
  }
  return out;
}

/// I: the coordinates and positions of the result. Its levels: per dimension the index that counts, then the others; of the
/// last one the others first, since every shift of a row is in order by itself.
template <class I> class Walk {
 public:
  Walk(const Tensor& t, const Affine& a, std::vector<Dimension> dimensions) : part_(t.part()), width_(size_of(t.dtype())), dimensions_(std::move(dimensions)) {
    for (std::size_t d = 0; d < dimensions_.size(); ++d) {
      const Dimension& x = dimensions_[d];
      const bool last = d + 1 == dimensions_.size();
      if (!last) order_.push_back(static_cast<int>(x.index));
      for (auto o : x.others) order_.push_back(static_cast<int>(o));
      if (last) order_.push_back(static_cast<int>(x.index));
      auto& crd = crd_.emplace_back();
      const Buffer& stored = part_.levels[d].crd;
      const bool dense = is_dense(d);
      crd.resize(static_cast<std::size_t>(dense ? t.shape()[d] : stored.size));
      for (std::size_t k = 0; k < crd.size(); ++k) crd[k] = dense ? static_cast<i64>(k) : stored.index(static_cast<i64>(k));
    }
    levels_.resize(order_.size());
    at_.resize(order_.size());
    const auto n = static_cast<std::size_t>(copies(a) * static_cast<double>(part_.levels.back().crd.size));
    levels_.back().crd.reserve(n);
    values_.reserve(n * width_);
  }

  void run() { fibers(0, 0, 0); }

  Tensor tensor(const Tensor& t, const Affine& a) {
    RawArrays arrays;
    for (std::size_t l = 0; l < levels_.size(); ++l) {
      Level& level = levels_[l];
      if (l == 0) level.pos.append(&zero, 1);
      const I end = static_cast<I>(level.crd.size());
      level.pos.append(&end, 1);
      arrays.pos[static_cast<int>(l)] = buffer(level.pos);
      arrays.crd[static_cast<int>(l)] = buffer(level.crd);
    }
    arrays.values = Buffer::allocate(t.dtype(), static_cast<i64>(values_.size() / width_));
    if (values_.size() > 0) std::memcpy(arrays.values.data, values_.data(), values_.size());
    return make_tensor(conversion::levels_in_order(order_, false), a.extents, std::move(arrays), t.fill(), false);
  }

 private:
  static constexpr I zero = 0;
  struct Level {
    PodArray<I> pos, crd;
  };

  bool is_dense(std::size_t d) const { return part_.format.level(static_cast<int>(d)).kind == LevelKind::dense; }

  static Buffer buffer(const PodArray<I>& from) {
    Buffer out = Buffer::allocate(sizeof(I) == 4 ? DType::i32 : DType::i64, static_cast<i64>(from.size()));
    if (from.size() > 0) std::memcpy(out.data, from.data(), from.size() * sizeof(I));
    return out;
  }

  /// The children of position `parent` in dimension d; the first `l` levels of the result are known.
  void fibers(std::size_t d, i64 parent, std::size_t l) {
    const i64 begin = is_dense(d) ? 0 : part_.levels[d].pos.index(parent);
    const i64 end = is_dense(d) ? static_cast<i64>(crd_[d].size()) : part_.levels[d].pos.index(parent + 1);
    if (d + 1 == dimensions_.size()) return rows(begin, end, l);
    const Dimension& x = dimensions_[d];
    const auto& crd = crd_[d];
    if (x.shifts.size() == 1 && x.coefficient == 1) {  // one that is only moved
      for (i64 p = begin; p < end; ++p) {
        at_[l] = crd[static_cast<std::size_t>(p)] - x.shifts[0];
        if (at_[l] >= 0 && at_[l] < x.extent) fibers(d + 1, p, put(l + 1, x.chosen[0]));
      }
      return;
    }
    // Each shift walks the fiber by itself; the least index is next.
    std::vector<i64> cursors(x.shifts.size(), begin), next(x.shifts.size());
    for (std::size_t s = 0; s < x.shifts.size(); ++s) next[s] = find(x, s, crd, cursors[s], end);
    while (true) {
      const i64 least = *std::min_element(next.begin(), next.end());
      if (least == x.extent) return;
      at_[l] = least;
      for (std::size_t s = 0; s < x.shifts.size(); ++s) {
        if (next[s] != least) continue;
        fibers(d + 1, cursors[s], put(l + 1, x.chosen[s]));
        next[s] = find(x, s, crd, ++cursors[s], end);
      }
    }
  }

  /// The index of the first element from the cursor on that has one under this shift; the extent where there is none.
  static i64 find(const Dimension& x, std::size_t s, const PodArray<i64>& crd, i64& cursor, i64 end) {
    for (; cursor < end; ++cursor) {
      const i64 rest = crd[static_cast<std::size_t>(cursor)] - x.shifts[s];
      if (rest < 0 || rest % x.coefficient != 0) continue;
      return std::min(rest / x.coefficient, x.extent);
    }
    return x.extent;
  }

  std::size_t put(std::size_t l, const std::vector<i64>& chosen) {
    std::copy(chosen.begin(), chosen.end(), at_.begin() + static_cast<std::ptrdiff_t>(l));
    return l + chosen.size();
  }

  void rows(i64 begin, i64 end, std::size_t l) {
    const Dimension& x = dimensions_.back();
    if (begin == end) return;
    const auto& crd = crd_.back();
    for (std::size_t s = 0; s < x.shifts.size(); ++s) {
      const std::size_t last = put(l, x.chosen[s]);
      i64 p = begin;
      i64 found = find(x, s, crd, p, end);
      if (found == x.extent) continue;
      enter(last);
      if (x.coefficient == 1) {  // all that follow, up to the extent
        i64 stop = end;
        while (crd[static_cast<std::size_t>(stop) - 1] - x.shifts[s] >= x.extent) --stop;
        append(p, stop, x.shifts[s]);
        continue;
      }
      for (; found < x.extent; found = find(x, s, crd, ++p, end)) append(p, p + 1, crd[static_cast<std::size_t>(p)] - found);
    }
  }

  /// Elements [begin, end) of the operand, whose coordinates become less by so much.
  void append(i64 begin, i64 end, i64 less) {
    auto& to = levels_.back().crd;
    const std::size_t before = to.size(), n = static_cast<std::size_t>(end - begin);
    to.resize(before + n);
    const i64* from = crd_.back().data() + begin;
    for (std::size_t k = 0; k < n; ++k) to[before + k] = static_cast<I>(from[k] - less);
    values_.resize(values_.size() + n * width_);
    char* v = values_.data() + before * width_;
    const auto* given = static_cast<const char*>(part_.values.data);
    if (width_ == 4 && part_.value_stride == 1) return copy_n<std::uint32_t>(given, begin, n, v);
    if (width_ == 8 && part_.value_stride == 1) return copy_n<std::uint64_t>(given, begin, n, v);
    for (std::size_t k = 0; k < n; ++k) std::memcpy(v + k * width_, given + static_cast<std::size_t>((begin + static_cast<i64>(k)) * part_.value_stride) * width_, width_);
  }
  /// Rows are short: a call of memcpy would cost more than they do.
  template <class T> static void copy_n(const char* from, i64 begin, std::size_t n, char* to) {
    std::copy_n(reinterpret_cast<const T*>(from) + begin, n, reinterpret_cast<T*>(to));
  }

  /// What differs from the element before begins anew, up to the last level.
  void enter(std::size_t last) {
    poll_at(++entered_);
    std::size_t l = 0;
    if (entered_ > 1)
      while (l < last && before_[l] == at_[l]) ++l;
    before_.assign(at_.begin(), at_.begin() + static_cast<std::ptrdiff_t>(last));
    for (; l < last; ++l) {
      const I c = static_cast<I>(at_[l]), children = static_cast<I>(levels_[l + 1].crd.size());
      levels_[l].crd.append(&c, 1);
      levels_[l + 1].pos.append(&children, 1);
    }
  }

  const Part& part_;
  const std::size_t width_;
  std::vector<Dimension> dimensions_;
  std::vector<int> order_;               ///< the index of each level of the result
  std::vector<PodArray<i64>> crd_;       ///< of the operand's levels
  std::vector<Level> levels_;
  PodArray<char> values_;
  std::vector<i64> at_, before_;
  i64 entered_ = 0;
};

}  // namespace

bool is_in_order(const Tensor& t) {
  const auto order = storage_order(t.format());
  if (!order || !std::is_sorted(order->begin(), order->end())) return false;
  for (int l = 0; l < t.format().num_levels(); ++l)
    if (t.format().level(l).kind != LevelKind::compressed && (l > 0 || t.rank() == 1)) return false;
  return true;
}

std::optional<Tensor> expanded_in_order(const Tensor& t, const Affine& a) {
  auto found = dimensions(a);
  if (!found) return std::nullopt;
  const i64 largest = *std::max_element(a.extents.begin(), a.extents.end());
  const bool narrow = index_dtype_for(largest) == DType::i32 && copies(a) * static_cast<double>(t.nse()) < static_cast<double>(INT32_MAX);
  const auto run = [&](auto&& walk) {
    walk.run();
    return walk.tensor(t, a);
  };
  return narrow ? run(Walk<std::int32_t>(t, a, std::move(*found))) : run(Walk<i64>(t, a, std::move(*found)));
}

}  // namespace strata::direct
