// A(i + r, j + s) row by row: what a shift of a row is, is a row.
#include <algorithm>
#include <cstring>
#include <utility>

#include "backend/pod_array.h"
#include "backend/pool.h"
#include "backend/steps.h"
#include "base/checked.h"
#include "convert/convert_elements.h"
#include "plan/nest/expand.h"
#include "plan/nest/unit.h"

namespace strata::direct {
namespace {

using i64 = std::int64_t;

constexpr std::size_t most_shifts = 256;  ///< of a dimension
constexpr double piece_copies = 16384;    ///< elements of the result that are worth a thread's attention

/// The indices of one dimension: the coordinate is shift + coefficient * x, x counted by the index that goes furthest,
/// and a shift for each choice of the others.
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
      if (checked_mul(static_cast<i64>(out_d.shifts.size()), n).value_or(INT64_MAX) > static_cast<i64>(most_shifts))
        return std::nullopt;
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

/// The index of each level of the result: per dimension the one that counts, then the others; of the last one the
/// others first, since every shift of a row is in order by itself.
std::vector<int> levels_of(const std::vector<Dimension>& dimensions) {
  std::vector<int> out;
  for (std::size_t d = 0; d < dimensions.size(); ++d) {
    const Dimension& x = dimensions[d];
    const bool last = d + 1 == dimensions.size();
    if (!last) out.push_back(static_cast<int>(x.index));
    for (auto o : x.others) out.push_back(static_cast<int>(o));
    if (last) out.push_back(static_cast<int>(x.index));
  }
  return out;
}

/// What is walked.
struct WalkedTensor {
  const Part& part;
  std::size_t width;  ///< of a value
  std::vector<Dimension> dimensions;
  std::vector<int> order;               ///< the index of each level of the result
  std::vector<PodArray<i64>> crd = {};  ///< of the operand's levels

  WalkedTensor(const Tensor& t, std::vector<Dimension> all)
      : part(t.part()), width(size_of(t.dtype())), dimensions(std::move(all)), order(levels_of(dimensions)) {
    for (std::size_t d = 0; d < dimensions.size(); ++d) {
      auto& to = crd.emplace_back();
      const Buffer& stored = part.levels[d].crd;
      const bool dense = is_dense(d);
      to.resize(static_cast<std::size_t>(dense ? t.shape()[d] : stored.size));
      for (std::size_t k = 0; k < to.size(); ++k)
        to[k] = dense ? static_cast<i64>(k) : stored.index(static_cast<i64>(k));
    }
  }
  bool is_dense(std::size_t d) const { return part.format.level(static_cast<int>(d)).kind == LevelKind::dense; }

  /// Indices of the first level that cut the work into n pieces: the first is 0, the last the extent.
  std::vector<i64> cuts(i64 n) const {
    const Dimension& x = dimensions[0];
    const auto& at = crd[0];
    const Buffer& pos = part.levels[1].pos;  // compressed (is_in_order)
    const i64 stored = part.levels[1].crd.size;
    std::vector<i64> out{0};
    for (i64 c = 1; c < n; ++c) {
      std::size_t low = 0, high = at.size();
      while (low < high) {
        const std::size_t middle = low + (high - low) / 2;
        if (pos.index(static_cast<i64>(middle)) < stored / n * c) low = middle + 1;
        else high = middle;
      }
      const i64 index = low < at.size() ? (at[low] - x.shifts[0]) / x.coefficient : x.extent;
      out.push_back(std::clamp(index, out.back(), x.extent));
    }
    out.push_back(x.extent);
    return out;
  }
};

/// A piece of the result: what has indices [from, to) of the first level. I: its coordinates and positions.
template <class I> class ElementWalk {
 public:
  ElementWalk(const WalkedTensor& s, i64 from, i64 to, double expected)
      : source_(s), from_(from), to_(to), levels_(s.order.size()), at_(s.order.size()), before_(s.order.size()) {
    const auto n = static_cast<std::size_t>(expected);
    levels_.back().crd.reserve(n);
    values_.reserve(n * source_.width);
  }

  void run() { fibers(0, 0, 0); }

  /// The result, of its only piece.
  static Tensor whole(ElementWalk&& piece, const Tensor& t, const Affine& a) {
    RawArrays arrays;
    for (std::size_t l = 0; l < piece.levels_.size(); ++l) {
      BuiltLevel& level = piece.levels_[l];
      if (l == 0) level.pos.push_back(0);
      level.pos.push_back(static_cast<I>(level.crd.size()));
      arrays.pos[static_cast<int>(l)] = owned(std::move(level.pos), dtype_of<I>());
      arrays.crd[static_cast<int>(l)] = owned(std::move(level.crd), dtype_of<I>());
    }
    arrays.values = owned(std::move(piece.values_), t.dtype());
    return make_tensor(conversion::levels_in_order(piece.source_.order, false), a.extents, std::move(arrays), t.fill(),
                       false);
  }

  /// The pieces one behind the other.
  static Tensor joined(std::vector<ElementWalk>&& pieces, const Tensor& t, const Affine& a) {
    if (pieces.size() == 1) return whole(std::move(pieces[0]), t, a);
    const WalkedTensor& s = pieces[0].source_;
    const std::size_t levels = s.order.size(), n = pieces.size();
    std::vector<std::vector<i64>> starts(levels, std::vector<i64>{0});  // of each piece's coordinates
    for (std::size_t l = 0; l < levels; ++l)
      for (const ElementWalk& w : pieces)
        starts[l].push_back(starts[l].back() + static_cast<i64>(w.levels_[l].crd.size()));
    const auto indices = [](i64 size) { return Buffer::allocate(dtype_of<I>(), size); };
    RawArrays arrays;
    for (std::size_t l = 0; l < levels; ++l) {
      const int level = static_cast<int>(l);
      arrays.crd[level] = indices(starts[l][n]);
      arrays.pos[level] = indices(l == 0 ? 2 : starts[l - 1][n] + 1);
      arrays.pos[level].set_index(0, 0);
      arrays.pos[level].set_index(arrays.pos[level].size - 1, starts[l][n]);
    }
    arrays.values = Buffer::allocate(t.dtype(), starts[levels - 1][n]);
    parallel_for(static_cast<i64>(n), [&](i64 c) {
      const ElementWalk& w = pieces[static_cast<std::size_t>(c)];
      const auto start = [&](std::size_t l) { return starts[l][static_cast<std::size_t>(c)]; };
      for (std::size_t l = 0; l < levels; ++l) {
        const BuiltLevel& from = w.levels_[l];
        if (from.crd.size() > 0)
          std::memcpy(static_cast<I*>(arrays.crd[static_cast<int>(l)].data) + start(l), from.crd.data(),
                      from.crd.size() * sizeof(I));
        if (l == 0) continue;
        I* pos = static_cast<I*>(arrays.pos[static_cast<int>(l)].data) + start(l - 1);
        for (std::size_t k = 0; k < from.pos.size(); ++k) pos[k] = static_cast<I>(from.pos[k] + start(l));
      }
      if (w.values_.size() > 0)
        std::memcpy(static_cast<char*>(arrays.values.data) + static_cast<std::size_t>(start(levels - 1)) * s.width,
                    w.values_.data(), w.values_.size());
    });
    return make_tensor(conversion::levels_in_order(s.order, false), a.extents, std::move(arrays), t.fill(), false);
  }

 private:
  struct BuiltLevel {
    PodArray<I> pos, crd;
  };

  template <class T> static Buffer owned(PodArray<T>&& array, DType dtype) {
    if (array.size() == 0) return Buffer::allocate(dtype, 0);
    const auto held = std::make_shared<PodArray<T>>(std::move(array));
    return Buffer::borrow(dtype, held->data(), static_cast<i64>(held->size() * sizeof(T) / size_of(dtype)), held);
  }

  /// The children of position `parent` in dimension d; the first `l` levels of the result are known.
  void fibers(std::size_t d, i64 parent, std::size_t l) {
    const i64 begin = source_.is_dense(d) ? 0 : source_.part.levels[d].pos.index(parent);
    const i64 end =
        source_.is_dense(d) ? static_cast<i64>(source_.crd[d].size()) : source_.part.levels[d].pos.index(parent + 1);
    if (d + 1 == source_.dimensions.size()) return rows(begin, end, l);
    const Dimension& x = source_.dimensions[d];
    const auto& crd = source_.crd[d];
    const i64 first = d == 0 ? from_ : 0, limit = d == 0 ? to_ : x.extent;
    const auto start = [&](std::size_t s) {
      if (first == 0) return begin;
      return static_cast<i64>(
          std::lower_bound(crd.data() + begin, crd.data() + end, first * x.coefficient + x.shifts[s]) - crd.data());
    };
    if (x.shifts.size() == 1 && x.coefficient == 1) {  // one that is only moved
      for (i64 p = start(0); p < end; ++p) {
        at_[l] = crd[static_cast<std::size_t>(p)] - x.shifts[0];
        if (at_[l] >= limit) return;
        if (at_[l] >= 0) fibers(d + 1, p, put(l + 1, x.chosen[0]));
      }
      return;
    }
    // Each shift walks the fiber by itself; the least index is next.
    std::vector<i64> cursors(x.shifts.size()), next(x.shifts.size());
    for (std::size_t s = 0; s < x.shifts.size(); ++s) cursors[s] = start(s), next[s] = find(x, s, crd, cursors[s], end);
    while (true) {
      const i64 least = *std::min_element(next.begin(), next.end());
      if (least >= limit) return;
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
    for (i64 x : chosen) at_[l++] = x;
    return l;
  }

  void rows(i64 begin, i64 end, std::size_t l) {
    const Dimension& x = source_.dimensions.back();
    if (begin == end) return;
    const auto& crd = source_.crd.back();
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
      for (; found < x.extent; found = find(x, s, crd, ++p, end))
        append(p, p + 1, crd[static_cast<std::size_t>(p)] - found);
    }
  }

  /// Elements [begin, end) of the operand, whose coordinates become less by so much.
  void append(i64 begin, i64 end, i64 less) {
    auto& to = levels_.back().crd;
    const std::size_t before = to.size(), n = static_cast<std::size_t>(end - begin);
    to.resize(before + n);
    const i64* from = source_.crd.back().data() + begin;
    for (std::size_t k = 0; k < n; ++k) to[before + k] = static_cast<I>(from[k] - less);
    values_.resize(values_.size() + n * source_.width);
    char* v = values_.data() + before * source_.width;
    const auto* given = static_cast<const char*>(source_.part.values.data);
    if (source_.width == 4 && source_.part.value_stride == 1) return copy_n<std::uint32_t>(given, begin, n, v);
    if (source_.width == 8 && source_.part.value_stride == 1) return copy_n<std::uint64_t>(given, begin, n, v);
    for (std::size_t k = 0; k < n; ++k)
      std::memcpy(
          v + k * source_.width,
          given + static_cast<std::size_t>((begin + static_cast<i64>(k)) * source_.part.value_stride) * source_.width,
          source_.width);
  }
  /// Rows are short: a call of memcpy would cost more than they do.
  template <class T> static void copy_n(const char* from, i64 begin, std::size_t n, char* to) {
    const T* given = reinterpret_cast<const T*>(from) + begin;
    T* out = reinterpret_cast<T*>(to);
    for (std::size_t k = 0; k < n; ++k) out[k] = given[k];
  }

  /// What differs from the element before begins anew, up to the last level.
  void enter(std::size_t last) {
    poll_at(++entered_);
    std::size_t l = 0;
    if (entered_ > 1)
      while (l < last && before_[l] == at_[l]) ++l;
    for (; l < last; ++l) {
      before_[l] = at_[l];
      const I c = static_cast<I>(at_[l]), children = static_cast<I>(levels_[l + 1].crd.size());
      levels_[l].crd.push_back(c);
      levels_[l + 1].pos.push_back(children);
    }
  }

  const WalkedTensor& source_;
  i64 from_, to_;
  std::vector<BuiltLevel> levels_;
  PodArray<char> values_;
  std::vector<i64> at_, before_;
  i64 entered_ = 0;
};

}  // namespace

bool is_in_order(const Format& f) {
  const auto order = storage_order(f);
  if (!order || !std::is_sorted(order->begin(), order->end())) return false;
  for (int l = 0; l < f.num_levels(); ++l)
    if (f.level(l).kind != LevelKind::compressed && (l > 0 || f.rank() == 1)) return false;
  return true;
}

std::optional<std::vector<int>> order_of_expanded(const Affine& a) {
  const auto found = dimensions(a);
  return found ? std::optional(levels_of(*found)) : std::nullopt;
}

std::optional<Tensor> expanded_in_order(const Tensor& t, const Affine& a) {
  auto found = dimensions(a);
  if (!found) return std::nullopt;
  const i64 largest = *std::max_element(a.extents.begin(), a.extents.end());
  const double expected = copies(a) * static_cast<double>(t.nse());
  const bool narrow = index_dtype_for(largest) == DType::i32 && expected < static_cast<double>(INT32_MAX);
  const WalkedTensor source(t, std::move(*found));
  const bool one = thread_count() == 1 || source.dimensions.size() < 2 || expected < 2 * piece_copies;
  const i64 n = one ? 1 : std::min<i64>(4 * thread_count(), static_cast<i64>(expected / piece_copies));
  const std::vector<i64> cuts = n == 1 ? std::vector<i64>{0, source.dimensions[0].extent} : source.cuts(n);
  const auto run = [&]<class I>(I) {
    std::vector<ElementWalk<I>> pieces;
    pieces.reserve(static_cast<std::size_t>(n));
    for (std::size_t c = 0; c < static_cast<std::size_t>(n); ++c)
      pieces.emplace_back(source, cuts[c], cuts[c + 1], expected / static_cast<double>(n));
    parallel_for(n, [&](i64 c) { pieces[static_cast<std::size_t>(c)].run(); });
    return ElementWalk<I>::joined(std::move(pieces), t, a);
  };
  return narrow ? run(std::int32_t{}) : run(i64{});
}

}  // namespace strata::direct
