// Compressed: parent p owns crd[pos[p]] .. crd[pos[p + 1] - 1]. Source: Chou, Kjolstad, Amarasinghe, OOPSLA 2018.
#include <algorithm>
#include <limits>
#include <type_traits>

#include "backend/steps.h"
#include "levels/level_storage.h"

namespace strata::storage {
namespace {

[[noreturn]] void fail_at(const LevelView& v, std::int64_t parent, std::int64_t p, const char* what) {
  const auto entry = v.crd[p];
  const std::string at = "crd[" + std::to_string(p) + "]";
  if (outside(v.range, entry))
    fail(v, "coordinate out of range",
         at + " in [" + std::to_string(v.range.lo) + ", " + std::to_string(v.range.lo + v.range.size) + ")",
         std::to_string(entry));
  fail(v, std::string(what) + " below parent position " + std::to_string(parent), {},
       at + " = " + std::to_string(entry),
       std::string(what) == "a coordinate stands twice" ? "declare the level nonunique, or add the duplicates up"
                                                        : "declare the level unordered, or sort it");
}

/// Range and order in one pass over the segment; true where all is well.
template <class T> bool segment_ok(const char* crd, std::int64_t begin, std::int64_t end, std::int64_t lo,
                                   std::uint64_t size, bool ordered, bool unique) {
  bool bad = false;
  const auto at = [crd](std::int64_t p) {
    return static_cast<std::int64_t>(load_as<T>(crd + p * static_cast<std::int64_t>(sizeof(T))));
  };
  for (std::int64_t p = begin; p < end; ++p)
    bad |= static_cast<std::uint64_t>(at(p)) - static_cast<std::uint64_t>(lo) >= size;
  if (ordered && unique)
    for (std::int64_t p = begin + 1; p < end; ++p) bad |= at(p) <= at(p - 1);
  else if (ordered)
    for (std::int64_t p = begin + 1; p < end; ++p) bad |= at(p) < at(p - 1);
  return !bad;
}

/// How many coordinates in [begin, end) are no larger than the one before them.
template <class T> std::int64_t descents(const char* crd, std::int64_t begin, std::int64_t end, bool unique) {
  const auto at = [crd](std::int64_t p) { return load_as<T>(crd + p * static_cast<std::int64_t>(sizeof(T))); };
  std::int64_t total = 0;
  for (std::int64_t from = begin; from < end;) {
    const std::int64_t to = std::min(end, from + (std::int64_t{1} << 30));
    std::uint32_t n = 0;  // as wide as most coordinates
    if (unique)
      for (; from < to; ++from) n += at(from) <= at(from - 1);
    else
      for (; from < to; ++from) n += at(from) < at(from - 1);
    total += n;
  }
  return total;
}

/// The same of n ordered segments that lie one behind the other, in loops without branches: as many coordinates as do
/// not ascend must be the first of a segment. False also where only a closer look can tell.
template <class T> bool segments_ok(const LevelView& v, const std::int64_t* pos, std::int64_t n) {
  using Unsigned = std::make_unsigned_t<T>;
  constexpr std::int64_t least = std::numeric_limits<T>::min(), largest = std::numeric_limits<T>::max();
  const std::int64_t begin = pos[0], end = pos[n];
  if (begin < 0 || end > v.crd.size || !std::is_sorted(pos, pos + n + 1) || v.range.size == 0) return false;
  // The range, as far as T reaches, compared in T's width.
  const std::int64_t lo = std::max(v.range.lo, least), hi = std::min(v.range.lo + (v.range.size - 1), largest);
  if (lo > hi) return false;
  const auto first = static_cast<Unsigned>(lo);
  const auto most = static_cast<Unsigned>(static_cast<std::uint64_t>(hi) - static_cast<std::uint64_t>(lo));
  const auto at = [&](std::int64_t p) { return load_as<T>(v.crd.data + p * static_cast<std::int64_t>(sizeof(T))); };
  bool bad = false;
  for (std::int64_t p = begin; p < end; ++p) bad |= static_cast<Unsigned>(static_cast<Unsigned>(at(p)) - first) > most;
  std::int64_t unexplained = begin < end ? descents<T>(v.crd.data, begin + 1, end, v.level.unique) : 0;
  for (std::int64_t k = 1; k < n; ++k)
    if (pos[k] > begin && pos[k] < pos[k + 1])
      unexplained -= v.level.unique ? at(pos[k]) <= at(pos[k] - 1) : at(pos[k]) < at(pos[k] - 1);
  return !bad && unexplained == 0;
}

void check_segment(const LevelView& v, std::int64_t parent, std::int64_t begin, std::int64_t end,
                   std::vector<std::int64_t>& sorted) {
  const bool ordered = v.level.ordered, unique = v.level.unique;
  const bool ok = with_index_type(v.crd.dtype, [&]<class T>(T) {
    return segment_ok<T>(v.crd.data, begin, end, v.range.lo, static_cast<std::uint64_t>(v.range.size), ordered, unique);
  });
  if (!ok) {
    for (std::int64_t p = begin; p < end; ++p) {
      const auto c = v.crd[p];
      if (outside(v.range, c)) fail_at(v, parent, p, "out of range");
      if (p > begin && ordered && c < v.crd[p - 1]) fail_at(v, parent, p, "coordinates do not ascend");
      if (p > begin && ordered && unique && c == v.crd[p - 1]) fail_at(v, parent, p, "a coordinate stands twice");
    }
  }
  if (ordered || !unique || end - begin < 2) return;
  sorted.resize(static_cast<std::size_t>(end - begin));
  v.crd.read(begin, end - begin, sorted.data());
  std::sort(sorted.begin(), sorted.end());
  const auto twice = std::adjacent_find(sorted.begin(), sorted.end());
  if (twice == sorted.end()) return;
  std::int64_t p = end - 1;  // its last occurrence
  while (v.crd[p] != *twice) --p;
  fail_at(v, parent, p, "a coordinate stands twice");
}

std::int64_t check(const CheckInput& in) {
  const LevelView& v = in.view();
  const std::int64_t end = check_pos(v, in.parents(), v.crd.size);
  std::vector<std::int64_t> sorted;
  std::array<std::int64_t, 1025> pos;
  for (std::int64_t p = 0; p < in.parents(); p += 1024) {
    poll_at(p + 1024);
    const auto n = std::min<std::int64_t>(1024, in.parents() - p);
    v.pos.read(p, n + 1, pos.data());
    const bool fine = v.level.ordered && with_index_type(v.crd.dtype, [&]<class T>(T) {
                        using Signed = std::conditional_t<sizeof(T) == 8, std::int64_t, T>;  // as IndexView reads u64
                        return segments_ok<Signed>(v, pos.data(), n);
                      });
    if (fine) continue;
    for (std::int64_t k = 0; k < n; ++k) {
      const auto a = pos[static_cast<std::size_t>(k)], b = pos[static_cast<std::size_t>(k + 1)];
      if (a < b) check_segment(v, p + k, a, b, sorted);
    }
  }
  return end;
}

std::int64_t positions(const LevelView& v, std::int64_t parents) { return v.pos[parents]; }

void walk(const LevelView& v, const std::int64_t* parents, int n, Children& out) {
  for (int k = 0; k < n; ++k) {
    std::int64_t p = std::max<std::int64_t>(v.pos[parents[k]], 0);
    const std::int64_t end = std::min(v.pos[parents[k] + 1], v.crd.size);  // borrowed ones may have changed
    while (p < end) {
      const auto take = static_cast<int>(std::min<std::int64_t>(out.room(), end - p));
      v.crd.read(p, take, out.coordinate.data() + out.n);
      auto* parent = out.parent.data() + out.n;
      auto* position = out.position.data() + out.n;
      for (int i = 0; i < take; ++i) parent[i] = k, position[i] = p + i;
      out.n += take;
      p += take;
    }
  }
}

void find(const LevelView& v, std::int64_t parent, std::int64_t coordinate,
          const std::function<void(std::int64_t)>& visit) {
  std::int64_t p = v.pos[parent];
  const std::int64_t end = v.pos[parent + 1];
  if (v.level.ordered) {
    for (std::int64_t above = end; p < above;) {
      const std::int64_t middle = p + (above - p) / 2;
      if (v.crd[middle] < coordinate) p = middle + 1;
      else above = middle;
    }
    for (; p < end && v.crd[p] == coordinate; ++p) visit(p);
    return;
  }
  for (; p < end; ++p)
    if (v.crd[p] == coordinate) visit(p);
}

Built build(const BuildInput& in) {
  Built out;
  require_memory(in.parents, 8);
  out.pos = Buffer::zeros(DType::i64, in.parents + 1);
  auto* pos = static_cast<std::int64_t*>(out.pos.data);
  in_steps(0, in.n, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t e = begin; e < end; ++e)
      if (in.starts(e)) ++pos[in.position[e] + 1];
  });
  in_steps(0, in.parents, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t p = begin; p < end; ++p) pos[p + 1] += pos[p];
  });
  out.positions = pos[in.parents];
  out.crd = allocate_crd(in.level, in.range.size, in.crd_dtype, out.positions);
  with_index_type(in.crd_dtype, [&]<class T>(T) {
    T* crd = static_cast<T*>(out.crd.data);
    std::int64_t next = 0;
    in_steps(0, in.n, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t e = begin; e < end; ++e) {
        if (in.starts(e)) crd[next++] = static_cast<T>(in.coordinate[e]);
        in.position[e] = next - 1;
      }
    });
  });
  return out;
}

}  // namespace

const LevelStorage compressed_storage = {check, positions, walk, find, build};

}  // namespace strata::storage
