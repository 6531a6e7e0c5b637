// Delta(b): crd is the gap to the slot before, minus one, in b bits; a larger gap is bridged by slots of fill-in, each
// 2^b columns wide, only in front of a stored element. A parent starts from lo - 1. Source: MACKO; nvmath-python's
// DELTA level.
#include <algorithm>

#include "backend/steps.h"
#include "levels/kinds.h"
#include "levels/level_storage.h"

namespace strata::storage {
namespace {

std::int64_t check(const CheckInput& in) {
  const LevelView& v = in.view();
  const std::int64_t end = check_pos(v, in.parents(), v.crd_capacity());
  for (std::int64_t parent = 0; parent < in.parents(); ++parent) {
    poll_at(parent + 1);
    std::int64_t left = v.range.size;  // coordinates that are not yet passed
    for (std::int64_t p = v.pos[parent]; p < v.pos[parent + 1]; ++p) {
      const auto gap = static_cast<std::uint64_t>(v.coordinate(p));
      if (gap >= static_cast<std::uint64_t>(left))
        fail(v, "the gaps of parent position " + std::to_string(parent) + " lead out of range",
             "coordinates below " + std::to_string(v.range.lo + v.range.size),
             "crd[" + std::to_string(p) + "] = " + std::to_string(gap) + " after coordinate " +
                 std::to_string(v.range.lo + v.range.size - left - 1));
      left -= static_cast<std::int64_t>(gap) + 1;
    }
  }
  return end;
}

std::int64_t positions(const LevelView& v, std::int64_t parents) { return v.pos[parents]; }

void walk(const LevelView& v, const std::int64_t* parents, int n, Children& out) {
  for (int k = 0; k < n; ++k) {
    std::int64_t c = v.range.lo - 1;
    std::int64_t p = std::max<std::int64_t>(v.pos[parents[k]], 0);
    const std::int64_t end = std::min(v.pos[parents[k] + 1], v.crd_capacity());  // a borrowed pos may have changed
    while (p < end) {
      const auto take = static_cast<int>(std::min<std::int64_t>(out.room(), end - p));
      for (int i = 0; i < take; ++i) {
        c += v.coordinate(p + i) + 1;
        const auto o = static_cast<std::size_t>(out.n + i);
        out.parent[o] = k;
        out.coordinate[o] = c;
        out.position[o] = p + i;
      }
      out.n += take;
      p += take;
    }
  }
}

void find(const LevelView& v, std::int64_t parent, std::int64_t coordinate,
          const std::function<void(std::int64_t)>& visit) {
  std::int64_t c = v.range.lo - 1;
  for (std::int64_t p = v.pos[parent]; p < v.pos[parent + 1] && c < coordinate; ++p) {
    c += v.coordinate(p) + 1;
    if (c == coordinate) visit(p);
  }
}

Built build(const BuildInput& in) {
  const int bits = packed_bits(in.level, in.range.size);
  const bool wide = bits >= 63;  // then no gap needs a bridge
  const std::int64_t step = wide ? 0 : std::int64_t{1} << bits;
  // Slots that an element needs: its bridges and itself. `next` is the first coordinate that is not yet passed.
  const auto bridges = [&](std::int64_t next, std::int64_t c) { return wide ? 0 : (c - next) >> bits; };
  const auto visit = [&](auto&& f) {
    std::int64_t next = in.range.lo, parent = -1;
    for (std::int64_t e = 0; e < in.n; ++e) {
      poll_at(e + 1);
      if (!in.starts(e)) {
        f(e, std::int64_t{-1}, std::int64_t{0});
        continue;
      }
      if (in.position[e] != parent) next = in.range.lo, parent = in.position[e];
      const std::int64_t b = bridges(next, in.coordinate[e]);
      f(e, b, in.coordinate[e] - next - b * step);
      next = in.coordinate[e] + 1;
    }
  };
  Built out;
  require_memory(in.parents, 8);
  out.pos = Buffer::zeros(DType::i64, in.parents + 1);
  auto* pos = static_cast<std::int64_t*>(out.pos.data);
  visit([&](std::int64_t e, std::int64_t b, std::int64_t) {
    if (b < 0) return;
    auto& count = pos[in.position[e] + 1];
    const auto more = checked_add(count, b + 1);
    if (!more) fail(in.level, in.index, "more bridging slots than 64 bits count");
    count = *more;
  });
  for (std::int64_t p = 0; p < in.parents; ++p) {
    const auto sum = checked_add(pos[p + 1], pos[p]);
    if (!sum) fail(in.level, in.index, "more bridging slots than 64 bits count");
    pos[p + 1] = *sum;
  }
  out.positions = pos[in.parents];
  out.crd = allocate_crd(in.level, in.range.size, in.crd_dtype, out.positions);
  char* crd = static_cast<char*>(out.crd.data);
  std::int64_t slot = 0;
  std::int64_t last_parent = -1;
  visit([&](std::int64_t e, std::int64_t b, std::int64_t gap) {
    if (b >= 0) {
      for (; b > 0; --b) {
        poll_at(slot);
        pack_one(crd, slot++, bits, step - 1);
      }
      pack_one(crd, slot++, bits, gap);
    }
    // visit compares with the parent positions, so an element's own position replaces the one before only now.
    if (e > 0) in.position[e - 1] = last_parent;
    last_parent = slot - 1;
  });
  if (in.n > 0) in.position[in.n - 1] = last_parent;
  return out;
}

}  // namespace

const LevelStorage delta_storage = {check, positions, walk, find, build};

}  // namespace strata::storage

namespace strata::levels {

Steps steps_of_delta(const CursorInputs& in, const ir::Expr& position) {
  const std::string c = in.fresh(in.stem);
  return {.before = nullptr,
          .state = {{c, in.lo - 1}},
          .step = ir::assign(c, ir::var(c) + in.crd(position) + 1),
          .coordinate = ir::var(c)};
}

}  // namespace strata::levels
