// Singleton: every parent position has exactly one child, at the same position. Source: Chou et al., OOPSLA 2018.
#include <algorithm>
#include <numeric>
#include <type_traits>

#include "backend/steps.h"
#include "levels/level_storage.h"

namespace strata::storage {
namespace {

[[noreturn]] void twice(const LevelView& v, std::int64_t p) {
  fail(v, "the same coordinates stand twice", {}, "again at position " + std::to_string(p),
       "declare the level nonunique, or add the duplicates up");
}

/// The level at which the run of singleton levels up to l hangs: its segments hold the siblings to compare with. -1:
/// none.
int chain_start(const CheckInput& in) {
  int s = in.l - 1;
  while (s >= 0 && in.levels[static_cast<std::size_t>(s)].level.kind == LevelKind::singleton) --s;
  if (s < 0) return -1;
  const Level& level = in.levels[static_cast<std::size_t>(s)].level;
  return level.kind == LevelKind::compressed && !level.unique ? s : -1;
}

/// Does `here` ascend wherever `above` repeats, in a loop without branches?
template <class T> bool pairs_ascend(const LevelView& above, const LevelView& here, std::int64_t begin,
                                     std::int64_t end, bool unique) {
  if (begin < 0 || end > above.crd.size || end > here.crd.size) return false;
  const auto at = [](const LevelView& v, std::int64_t p) {
    return load_as<T>(v.crd.data + p * static_cast<std::int64_t>(sizeof(T)));
  };
  bool bad = false;
  for (std::int64_t p = begin + 1; p < end; ++p) {
    const T before = at(here, p - 1), now = at(here, p);
    const bool same = at(above, p) == at(above, p - 1), wrong = now < before || (unique && now == before);
    bad |= same && wrong;
  }
  return !bad;
}

/// Order and uniqueness among siblings that share all coordinates above. Only the last singleton of a run can be
/// required to be unique: above it, equal prefixes are what the nonunique head allows (COO of three dimensions).
void check_siblings(const CheckInput& in, int start) {
  const LevelView& v = in.view();
  const auto next = static_cast<std::size_t>(in.l) + 1;
  const bool unique =
      v.level.unique && (next >= in.levels.size() || in.levels[next].level.kind != LevelKind::singleton);
  const LevelView& head = in.levels[static_cast<std::size_t>(start)];
  bool all_ordered = true;
  for (int k = start; k <= in.l; ++k) all_ordered = all_ordered && in.levels[static_cast<std::size_t>(k)].level.ordered;
  const auto column = [&](int k, std::int64_t p) { return in.levels[static_cast<std::size_t>(k)].crd[p]; };
  std::vector<std::int64_t> order;
  const std::int64_t parents = in.counts[static_cast<std::size_t>(start)];
  for (std::int64_t parent = 0; parent < parents; ++parent) {
    const std::int64_t begin = head.pos[parent], end = head.pos[parent + 1];
    const bool pair = start == in.l - 1 && v.level.ordered && head.crd.dtype == v.crd.dtype;  // COO of matrices
    const bool fine = pair && with_index_type(v.crd.dtype, [&]<class T>(T) {
                        using Signed = std::conditional_t<sizeof(T) == 8, std::int64_t, T>;  // as IndexView reads u64
                        return pairs_ascend<Signed>(head, v, begin, end, unique);
                      });
    if (!fine && (v.level.ordered || all_ordered))
      for (std::int64_t p = begin + 1; p < end; ++p) {
        poll_at(p);
        bool same = true;
        for (int k = start; same && k < in.l; ++k) same = column(k, p) == column(k, p - 1);
        if (!same) continue;
        const std::int64_t before = v.crd[p - 1], here = v.crd[p];
        if (v.level.ordered && here < before)
          fail(v, "coordinates do not ascend", "crd[" + std::to_string(p) + "] at least " + std::to_string(before),
               std::to_string(here), "declare the level unordered, or sort it");
        if (unique && here == before) twice(v, p);
      }
    if (all_ordered || !unique) continue;
    order.resize(static_cast<std::size_t>(end - begin));
    std::iota(order.begin(), order.end(), begin);
    const auto compare = [&](std::int64_t a, std::int64_t b) {
      for (int k = start; k <= in.l; ++k)
        if (const auto x = column(k, a), y = column(k, b); x != y) return x < y ? -1 : 1;
      return 0;
    };
    std::sort(order.begin(), order.end(), [&](std::int64_t a, std::int64_t b) {
      const int c = compare(a, b);
      return c != 0 ? c < 0 : a < b;
    });
    for (std::size_t k = 1; k < order.size(); ++k)
      if (compare(order[k - 1], order[k]) == 0) twice(v, order[k]);
  }
}

std::int64_t check(const CheckInput& in) {
  const LevelView& v = in.view();
  const std::int64_t n = in.parents();
  if (v.crd.size < n) fail(v, "crd is too short", std::to_string(n) + " entries", std::to_string(v.crd.size));
  std::array<std::int64_t, 1024> chunk;
  for (std::int64_t p = 0; p < n; p += 1024) {
    poll_at(p + 1024);
    const auto take = std::min<std::int64_t>(1024, n - p);
    v.crd.read(p, take, chunk.data());
    bool bad = false;
    for (std::int64_t k = 0; k < take; ++k)
      bad |= static_cast<std::uint64_t>(chunk[static_cast<std::size_t>(k)]) - static_cast<std::uint64_t>(v.range.lo) >=
             static_cast<std::uint64_t>(v.range.size);
    for (std::int64_t k = 0; bad && k < take; ++k)
      if (const auto c = chunk[static_cast<std::size_t>(k)]; outside(v.range, c))
        fail(v, "coordinate out of range",
             "crd[" + std::to_string(p + k) + "] in [" + std::to_string(v.range.lo) + ", " +
                 std::to_string(v.range.lo + v.range.size) + ")",
             std::to_string(c));
  }
  if (const int start = chain_start(in); start >= 0 && (v.level.ordered || v.level.unique)) check_siblings(in, start);
  return n;
}

std::int64_t positions(const LevelView&, std::int64_t parents) { return parents; }

void walk(const LevelView& v, const std::int64_t* parents, int n, Children& out) {
  for (int k = 0; k < n && parents[k] < v.crd.size;) {
    int take = std::min(out.room(), n - k);
    // COO's positions follow one another: read them in one go.
    int run = 1;
    while (run < take && parents[k + run] == parents[k] + run && parents[k + run] < v.crd.size) ++run;
    take = run;
    v.crd.read(parents[k], take, out.coordinate.data() + out.n);
    for (int i = 0; i < take; ++i) {
      out.parent[static_cast<std::size_t>(out.n + i)] = k + i;
      out.position[static_cast<std::size_t>(out.n + i)] = parents[k] + i;
    }
    out.n += take;
    k += take;
  }
}

void find(const LevelView& v, std::int64_t parent, std::int64_t coordinate,
          const std::function<void(std::int64_t)>& visit) {
  if (v.crd[parent] == coordinate) visit(parent);
}

Built build(const BuildInput& in) {
  Built out;
  out.positions = in.parents;
  out.crd = allocate_crd(in.level, in.range.size, in.crd_dtype, in.parents);
  std::int64_t expected = 0;
  for (std::int64_t e = 0; e < in.n; ++e) {
    poll_at(e + 1);
    const std::int64_t p = in.position[e];
    if (p == expected) {
      out.crd.set_index(p, in.coordinate[e]);
      ++expected;
    } else if (p > expected) {
      break;
    } else if (in.starts(e)) {
      fail(in.level, in.index, "two elements below one parent position", "exactly one below each",
           "coordinates " + std::to_string(out.crd.index(p)) + " and " + std::to_string(in.coordinate[e]) +
               " below parent position " + std::to_string(p),
           "declare the level above nonunique, or use compressed here");
    }
  }
  if (expected != in.parents)
    fail(in.level, in.index, "a parent position without an element", "exactly one below each",
         "none below parent position " + std::to_string(expected), "use compressed here");
  return out;
}

}  // namespace

const LevelStorage singleton_storage = {check, positions, walk, find, build};

}  // namespace strata::storage
