// Bitmap: one bit per coordinate, rows start at a 64-bit word; the population count gives the position behind pos[p].
#include <algorithm>
#include <bit>

#include "backend/steps.h"
#include "levels/kinds.h"
#include "levels/level_storage.h"

namespace strata::storage {
namespace {

std::uint64_t word(const LevelView& v, std::int64_t i) { return load_as<std::uint64_t>(v.crd.data + 8 * i); }

std::int64_t check(const CheckInput& in) {
  const LevelView& v = in.view();
  const std::int64_t words = bitmap_words(v.range.size), parents = in.parents();
  const auto total = checked_mul(parents, words);
  if (!total || v.crd.size < *total)
    fail(v, "too few words of bits", std::to_string(parents) + " x " + std::to_string(words),
         std::to_string(v.crd.size));
  const std::int64_t end = check_pos(v, parents, INT64_MAX);
  const int tail = static_cast<int>(v.range.size % 64);
  for (std::int64_t p = 0; p < parents; ++p) {
    if (words > 4096) poll_interrupt();
    else poll_at(p + 1);
    std::int64_t ones = 0;
    for (std::int64_t w = 0; w < words; ++w) ones += std::popcount(word(v, p * words + w));
    if (ones != v.pos[p + 1] - v.pos[p])
      fail(v, "bits and pos disagree below parent position " + std::to_string(p),
           std::to_string(v.pos[p + 1] - v.pos[p]) + " bits", std::to_string(ones));
    if (tail && words > 0 && word(v, p * words + words - 1) >> tail)
      fail(v, "bits beyond the last coordinate below parent position " + std::to_string(p),
           "coordinates below " + std::to_string(v.range.lo + v.range.size));
  }
  return end;
}

std::int64_t positions(const LevelView& v, std::int64_t parents) { return v.pos[parents]; }

void walk(const LevelView& v, const std::int64_t* parents, int n, Children& out) {
  const std::int64_t words = bitmap_words(v.range.size);
  for (int k = 0; k < n; ++k) {
    std::int64_t p = v.pos[parents[k]];
    if (words > 4096) poll_interrupt();
    for (std::int64_t w = 0; w < words; ++w)
      for (std::uint64_t bits = word(v, parents[k] * words + w); bits; bits &= bits - 1) {
        out.room();
        const auto o = static_cast<std::size_t>(out.n++);
        out.parent[o] = k;
        out.coordinate[o] = v.range.lo + 64 * w + std::countr_zero(bits);
        out.position[o] = p++;
      }
  }
}

void find(const LevelView& v, std::int64_t parent, std::int64_t coordinate,
          const std::function<void(std::int64_t)>& visit) {
  const std::int64_t offset = coordinate - v.range.lo, row = parent * bitmap_words(v.range.size);
  if (!v.bit(parent, offset)) return;
  std::int64_t p = v.pos[parent];
  for (std::int64_t w = 0; w < offset / 64; ++w) p += std::popcount(word(v, row + w));
  visit(p + std::popcount(word(v, row + offset / 64) & ((std::uint64_t{1} << (offset % 64)) - 1)));
}

Built build(const BuildInput& in) {
  const std::int64_t words = bitmap_words(in.range.size);
  const auto total = checked_mul(in.parents, words);
  if (!total) fail(in.level, in.index, "more words of bits than 64 bits count");
  Built out;
  require_memory(*total, 8);
  out.crd = Buffer::zeros(DType::u64, *total);
  auto* bits = static_cast<std::uint64_t*>(out.crd.data);
  require_memory(in.parents, 8);
  out.pos = Buffer::zeros(DType::i64, in.parents + 1);
  auto* pos = static_cast<std::int64_t*>(out.pos.data);
  std::int64_t next = 0;
  for (std::int64_t e = 0; e < in.n; ++e) {
    poll_at(e + 1);
    if (in.starts(e)) {
      const std::int64_t parent = in.position[e], offset = in.coordinate[e] - in.range.lo;
      bits[parent * words + offset / 64] |= std::uint64_t{1} << (offset % 64);
      ++pos[parent + 1];
      ++next;
    }
    in.position[e] = next - 1;
  }
  for (std::int64_t p = 0; p < in.parents; ++p) pos[p + 1] += pos[p];
  out.positions = next;
  return out;
}

}  // namespace

const LevelStorage bitmap_storage = {check, positions, walk, find, build};

}  // namespace strata::storage

namespace strata::levels {

/// There is a set bit for each position: the search for the next one needs no end.
Steps steps_of_bitmap(const CursorInputs& in, const ir::Expr& parent) {
  using namespace ir;
  const std::string w = in.fresh("w" + in.stem), bits = in.fresh("bits"), first = in.fresh("f" + in.stem),
                    c = in.fresh(in.stem);
  const Expr rest = var(bits, {DType::u64, 1}), none = constant(Scalar::zero(DType::u64)),
             one = constant(Scalar::one(DType::u64));
  return {.before = let(first, parent * floor_div(in.size + 63, 64)),
          .state = {{w, var(first)}, {bits, none}, {c, in.lo - 1}},
          .step = block({while_loop(eq(rest, none), block({assign(bits, in.crd(var(w))), assign(w, var(w) + 1)})),
                         assign(c, in.lo + ((var(w) - 1 - var(first)) * 64 +
                                            cast(DType::i64, unary(Op::count_trailing_zeros, rest)))),
                         assign(bits, binary(Op::bit_and, rest, rest - one))}),
          .coordinate = var(c)};
}

}  // namespace strata::levels
