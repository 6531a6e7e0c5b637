// Dense and range: position = parent * size + (coordinate - lo). No arrays. What lies off the matrix is an outside
// slot, left out by the bounds that a walk over a part gives; to the storage it is a slot like any other.
// Source: Kjolstad, Kamil, Chou, Lugato, Amarasinghe, OOPSLA 2017; range: Bik, "The Universal Sparse Tensor", 2025.
#include <algorithm>

#include "backend/steps.h"
#include "levels/level_storage.h"

namespace strata::storage {
namespace {

std::int64_t check(const CheckInput& in) { return checked_positions(in.view(), in.parents()); }

std::int64_t positions(const LevelView& v, std::int64_t parents) { return parents * v.range.size; }

void walk(const LevelView& v, const std::int64_t* parents, int n, Children& out) {
  for (int k = 0; k < n; ++k) {
    const std::int64_t base = parents[k] * v.scale;
    const std::int64_t end = out.last ? out.last[k] : v.range.size;
    for (std::int64_t c = out.first ? out.first[k] : 0; c < end;) {
      const auto take = static_cast<int>(std::min<std::int64_t>(out.room(), end - c));
      auto* parent = out.parent.data() + out.n;
      auto* coordinate = out.coordinate.data() + out.n;
      auto* position = out.position.data() + out.n;
      for (int i = 0; i < take; ++i) {
        parent[i] = k;
        coordinate[i] = v.range.lo + c + i;
        position[i] = base + (c + i) * v.step;
      }
      out.n += take;
      c += take;
    }
  }
}

void find(const LevelView& v, std::int64_t parent, std::int64_t coordinate,
          const std::function<void(std::int64_t)>& visit) {
  visit(parent * v.scale + (coordinate - v.range.lo) * v.step);
}

Built build(const BuildInput& in) {
  const auto total = checked_mul(in.parents, in.range.size);
  if (!total)
    fail(in.level, in.index, "more slots than 64 bits count", {},
         std::to_string(in.parents) + " x " + std::to_string(in.range.size));
  in_steps(0, in.n, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t e = begin; e < end; ++e)
      in.position[e] = in.position[e] * in.range.size + (in.coordinate[e] - in.range.lo);
  });
  return {.pos = {}, .crd = {}, .positions = *total};
}

}  // namespace

const LevelStorage dense_storage = {check, positions, walk, find, build};

}  // namespace strata::storage
