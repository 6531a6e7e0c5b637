// Structured(n): exactly n of the coordinates of a group or a dimension, ascending and packed. Pads take the lowest
// unused coordinates. Source: 2:4 sparsity; nvmath-python's STRUCTURED level.
#include <algorithm>

#include "backend/steps.h"
#include "levels/level_storage.h"

namespace strata::storage {
namespace {

std::int64_t check(const CheckInput& in) {
  const LevelView& v = in.view();
  const std::int64_t n = v.level.arg, parents = in.parents();
  if (n > v.range.size && parents > 0)
    fail(v, "more slots than coordinates", "at most " + std::to_string(v.range.size), std::to_string(n));
  const std::int64_t total = checked_positions(v, parents);
  if (v.crd_capacity() < total)
    fail(v, "crd is too short", std::to_string(total) + " entries", std::to_string(v.crd_capacity()));
  for (std::int64_t parent = 0; parent < parents; ++parent) {
    poll_at(parent + 1);
    std::int64_t before = -1;
    for (std::int64_t p = parent * n; p < (parent + 1) * n; ++p) {
      const std::int64_t c = v.coordinate(p);
      if (c >= v.range.size)
        fail(v, "coordinate out of range",
             "crd[" + std::to_string(p) + "] in [0, " + std::to_string(v.range.size) + ")", std::to_string(c));
      if (c <= before)
        fail(v, "coordinates of a group do not ascend",
             "crd[" + std::to_string(p) + "] above " + std::to_string(before), std::to_string(c));
      before = c;
    }
  }
  return total;
}

std::int64_t positions(const LevelView& v, std::int64_t parents) { return parents * v.level.arg; }

void walk(const LevelView& v, const std::int64_t* parents, int n, Children& out) {
  for (int k = 0; k < n; ++k)
    for (std::int64_t s = 0; s < v.level.arg;) {
      const auto take = static_cast<int>(std::min<std::int64_t>(out.room(), v.level.arg - s));
      for (int i = 0; i < take; ++i) {
        const auto o = static_cast<std::size_t>(out.n + i);
        out.parent[o] = k;
        out.position[o] = parents[k] * v.level.arg + s + i;
        out.coordinate[o] = v.range.lo + v.coordinate(out.position[o]);
      }
      out.n += take;
      s += take;
    }
}

void find(const LevelView& v, std::int64_t parent, std::int64_t coordinate,
          const std::function<void(std::int64_t)>& visit) {
  for (std::int64_t p = parent * v.level.arg; p < (parent + 1) * v.level.arg; ++p)
    if (v.range.lo + v.coordinate(p) == coordinate) visit(p);
}

Built build(const BuildInput& in) {
  const std::int64_t n = in.level.arg;
  if (n > in.range.size && in.parents > 0)
    fail(in.level, in.index, "more slots than coordinates", "at most " + std::to_string(in.range.size),
         std::to_string(n));
  const auto total = checked_mul(in.parents, n);
  if (!total) fail(in.level, in.index, "more slots than 64 bits count");
  Built out;
  out.positions = *total;
  out.crd = allocate_crd(in.level, in.range.size, in.crd_dtype, *total);
  char* crd = static_cast<char*>(out.crd.data);
  const int bits = packed_bits(in.level, in.range.size);
  std::vector<std::int64_t> group;  // coordinates of the elements of one parent
  std::int64_t e = 0;
  for (std::int64_t parent = 0; parent < in.parents; ++parent) {
    poll_at(parent + 1);
    group.clear();
    const std::int64_t first = e;
    for (; e < in.n && in.position[e] == parent; ++e)
      if (e == first || in.starts(e)) group.push_back(in.coordinate[e] - in.range.lo);
    const auto used = static_cast<std::int64_t>(group.size());
    if (used > n)
      fail(in.level, in.index, "too many elements in group " + std::to_string(parent),
           "at most " + std::to_string(n) + " of " + std::to_string(in.range.size), std::to_string(used),
           "prune first, or send the rest to a second part, as in \""
           "... + COO\"");
    // Merge the elements with the lowest free coordinates.
    std::int64_t pads = n - used, free = 0, slot = parent * n, next = first;
    std::size_t g = 0;
    for (std::int64_t s = 0; s < n; ++s, ++slot) {
      if (g < group.size() && (pads == 0 || group[g] == free)) {
        pack_one(crd, slot, bits, group[g]);
        free = group[g] + 1;
        ++g;
        do in.position[next++] = slot;
        while (next < e && !in.starts(next));
      } else {
        pack_one(crd, slot, bits, free++);
        --pads;
      }
    }
  }
  return out;
}

}  // namespace

const LevelStorage structured_storage = {check, positions, walk, find, build};

}  // namespace strata::storage
