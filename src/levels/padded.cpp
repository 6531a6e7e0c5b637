// Padded(k): k slots below every parent; the unused ones stand last and have coordinates of all ones. Source: ELLPACK.
#include <algorithm>

#include "backend/steps.h"
#include "levels/level_storage.h"

namespace strata::storage {
namespace {

std::int64_t check(const CheckInput& in) {
  const LevelView& v = in.view();
  const std::int64_t k = v.level.arg, unused = all_ones(v.crd.dtype);
  const std::int64_t total = checked_positions(v, in.parents());
  if (v.crd.size < total) fail(v, "crd is too short", std::to_string(total) + " entries", std::to_string(v.crd.size));
  std::vector<std::int64_t> row(static_cast<std::size_t>(std::max<std::int64_t>(0, std::min(k, total))));
  for (std::int64_t parent = 0; parent < in.parents() && k > 0; ++parent) {
    poll_at(parent + 1);
    v.crd.read(parent * k, k, row.data());
    auto used = static_cast<std::int64_t>(std::find(row.begin(), row.end(), unused) - row.begin());
    const auto at = [&](std::int64_t s) { return "crd[" + std::to_string(parent * k + s) + "]"; };
    for (std::int64_t s = used; s < k; ++s)
      if (row[static_cast<std::size_t>(s)] != unused)
        fail(v, "a used slot behind an unused one", at(s) + " of all ones",
             std::to_string(row[static_cast<std::size_t>(s)]), "unused slots stand last");
    for (std::int64_t s = 0; s < used; ++s) {
      const auto c = row[static_cast<std::size_t>(s)];
      if (outside(v.range, c))
        fail(v, "coordinate out of range",
             at(s) + " in [" + std::to_string(v.range.lo) + ", " + std::to_string(v.range.lo + v.range.size) + ")",
             std::to_string(c));
      if (v.level.ordered && s > 0 && c < row[static_cast<std::size_t>(s - 1)])
        fail(v, "coordinates do not ascend below parent position " + std::to_string(parent), {},
             at(s) + " = " + std::to_string(c), "declare the level unordered, or sort it");
    }
    if (!v.level.unique) continue;
    const auto end = row.begin() + used;
    if (!v.level.ordered) std::sort(row.begin(), end);
    if (const auto twice = std::adjacent_find(row.begin(), end); twice != end)
      fail(v, "a coordinate stands twice below parent position " + std::to_string(parent), {}, std::to_string(*twice),
           "declare the level nonunique, or add the duplicates up");
  }
  return total;
}

std::int64_t positions(const LevelView& v, std::int64_t parents) { return parents * v.level.arg; }

void walk(const LevelView& v, const std::int64_t* parents, int n, Children& out) {
  const std::int64_t k = v.level.arg, unused = all_ones(v.crd.dtype);
  for (int i = 0; i < n; ++i)
    for (std::int64_t p = parents[i] * k; p < (parents[i] + 1) * k; ++p) {
      const std::int64_t c = v.crd[p];
      if (c == unused) break;
      out.room();
      const auto o = static_cast<std::size_t>(out.n++);
      out.parent[o] = i;
      out.coordinate[o] = c;
      out.position[o] = p;
    }
}

void find(const LevelView& v, std::int64_t parent, std::int64_t coordinate,
          const std::function<void(std::int64_t)>& visit) {
  const std::int64_t k = v.level.arg, unused = all_ones(v.crd.dtype);
  for (std::int64_t p = parent * k; p < (parent + 1) * k; ++p) {
    const std::int64_t c = v.crd[p];
    if (c == unused || (v.level.ordered && c > coordinate)) return;
    if (c == coordinate) visit(p);
  }
}

Built build(const BuildInput& in) {
  const std::int64_t k = in.level.arg;
  const auto total = checked_mul(in.parents, k);
  if (!total)
    fail(in.level, in.index, "more slots than 64 bits count", {},
         std::to_string(in.parents) + " x " + std::to_string(k));
  Built out;
  out.positions = *total;
  out.crd = allocate_crd(in.level, in.range.size, in.crd_dtype, *total);
  in_steps(
      0, out.crd.bytes(),
      [&](std::int64_t begin, std::int64_t end) {
        std::memset(static_cast<char*>(out.crd.data) + begin, 0xFF, static_cast<std::size_t>(end - begin));
      },
      1 << 22);
  with_index_type(in.crd_dtype, [&]<class T>(T) {
    T* crd = static_cast<T*>(out.crd.data);
    std::int64_t parent = -1, used = 0;
    for (std::int64_t e = 0; e < in.n; ++e) {
      poll_at(e + 1);
      if (in.position[e] != parent) parent = in.position[e], used = 0;
      if (used == 0 || in.starts(e)) {
        if (used == k)
          fail(in.level, in.index, "too many elements below parent position " + std::to_string(parent),
               "at most " + std::to_string(k), "more", "write padded without a number to take the longest row");
        crd[parent * k + used++] = static_cast<T>(in.coordinate[e]);
      }
      in.position[e] = parent * k + used - 1;
    }
  });
  return out;
}

}  // namespace

const LevelStorage padded_storage = {check, positions, walk, find, build};

}  // namespace strata::storage
