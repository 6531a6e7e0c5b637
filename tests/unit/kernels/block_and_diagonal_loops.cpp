// The loops of blocks and of diagonals, of every instruction set that this machine has, with every choice that a caller
// makes for them. Sums of small integers are exact in any order.
#include <doctest/doctest.h>

#include <limits>
#include <random>
#include <set>
#include <vector>

#include "unit/kernels/tables.h"

namespace strata::kernels {

namespace {

/// x and the result of a product with `columns` columns. Rows begin wherever they like, or (inside >= 0) all so many
/// elements behind the beginning of a line of the cache. Around x lies NaN, which belongs in no sum; behind it nothing.
template <class V> struct Sides {
  static constexpr i64 line = 64 / static_cast<i64>(sizeof(V));
  i64 rows, columns, inner, ldx, ldo;
  std::vector<V> space, out;
  V* x;
  Sides(i64 of_rows, i64 of_inner, i64 of_columns, i64 inside, bool together, std::mt19937& r)
      : rows(of_rows),
        columns(of_columns),
        inner(of_inner),
        ldx(columns == 1 ? 1
            : inside < 0 ? columns + 3
                         : (columns + line - 1) / line * line),
        ldo(columns == 1 || together ? columns : columns + 1),
        space(static_cast<std::size_t>(inner * ldx + 2 * line), std::numeric_limits<V>::quiet_NaN()),
        out(static_cast<std::size_t>(rows * ldo + 1), V(3)) {
    const i64 begins = static_cast<i64>(reinterpret_cast<std::uintptr_t>(space.data()) % 64 / sizeof(V));
    x = space.data() + (inside < 0 ? line : (inside - begins + line) % line);
    space.resize(static_cast<std::size_t>(x - space.data() + inner * ldx));
    for (i64 k = 0; k < inner * ldx; ++k) x[k] = static_cast<V>(r() % 9) - 4;
  }
  Dense<V> arguments(const Dense<V>& like) {
    Dense<V> d = like;
    d.x = x, d.ldx = ldx, d.out = out.data(), d.ldo = ldo, d.columns = columns;
    return d;
  }
  /// Elements of the result that are not alpha * dense * x + beta * 3, or 3 between the rows.
  i64 wrong(const std::vector<V>& dense, const Dense<V>& d) const {
    i64 count = out.back() != V(3);
    for (i64 i = 0; i < rows; ++i)
      for (i64 c = 0; c < ldo; ++c) {
        V sum = 0;
        for (i64 j = 0; c < columns && j < inner; ++j)
          if (const V a = dense[static_cast<std::size_t>(i * inner + j)]; a != V(0)) sum += a * x[j * ldx + c];
        count += out[static_cast<std::size_t>(i * ldo + c)] != (c < columns ? d.alpha * sum + d.beta * V(3) : V(3));
      }
    return count;
  }
};

template <class V> Dense<V> choices(std::mt19937& r, bool together) {
  Dense<V> d{};
  d.alpha = r() % 3 ? V(1) : V(-2), d.beta = r() % 3 ? V(0) : V(2);
  d.stream = r() % 2, d.beyond = r() % 2, d.near = r() % 2;
  d.streaming = together && d.beta == V(0) && r() % 2;
  return d;
}

template <class V, class P, class J> void check_blocks(const IndexedLoops<V, P, J>& loops, std::mt19937& r) {
  struct Size {
    i64 rows, columns;
  };
  for (const auto [br, bc] : {Size{3, 3}, Size{8, 3}, Size{32, 32}, Size{40, 5}})
    for (i64 columns = 1; columns <= few_columns<V>; ++columns)
      for (int turn = 0; turn < 3; ++turn) {
        const bool small = br < 8, together = r() % 2;
        if (small ? columns > 1 || !loops.bsr_3x3_vector : columns < 2 || !loops.bsr_few_columns) continue;
        const i64 block_rows = 9, block_columns = 14, rows = block_rows * br, inner = block_columns * bc;
        std::vector<P> pos{0};
        std::vector<J> crd;
        std::vector<V> values, dense(static_cast<std::size_t>(rows * inner), V(0));
        for (i64 b = 0; b < block_rows; ++b) {
          for (i64 j = 0; j < block_columns; ++j) {
            if (b == 4 || r() % 3 == 0) continue;  // a row without blocks, and rows with many side by side
            crd.push_back(static_cast<J>(j));
            for (i64 u = 0; u < br * bc; ++u) {
              values.push_back(static_cast<V>(r() % 17) - 8);
              dense[static_cast<std::size_t>((b * br + u / bc) * inner + j * bc + u % bc)] = values.back();
            }
          }
          pos.push_back(static_cast<P>(crd.size()));
        }
        crd.shrink_to_fit(), values.shrink_to_fit();
        const i64 inside = turn == 0 ? -1 : static_cast<i64>(r() % (64 / sizeof(V)));
        Sides<V> s(rows, inner, columns, inside, together, r);
        const Dense<V> d = s.arguments(choices<V>(r, together));
        for (const auto& [begin, end] : {std::pair<i64, i64>{0, 5}, std::pair<i64, i64>{5, block_rows}})
          if (small) loops.bsr_3x3_vector(begin, end, pos.data(), crd.data(), values.data(), d);
          else loops.bsr_few_columns(begin, end, pos.data(), crd.data(), values.data(), br, bc, d);
        CHECK_MESSAGE(s.wrong(dense, d) == 0,
                      br << " x " << bc << " blocks, " << columns << " columns, " << sizeof(V) << "-byte values");
      }
}

template <class V> void check_diagonals(const PlainLoops<V>& loops, std::mt19937& r) {
  for (int turn = 0; turn < 60; turn += one_of(7))
    for (const i64 columns : {1, 3, 8, 16, 17, 32, 64, 72, 131}) {
      const i64 rows = 1 + static_cast<i64>(r() % 70), inner = 1 + static_cast<i64>(r() % 70);
      std::set<i64> chosen;
      for (unsigned k = r() % 8; k > 0; --k)
        chosen.insert(static_cast<i64>(r() % static_cast<unsigned>(rows + inner)) - rows);
      std::vector<i64> offsets(chosen.begin(), chosen.end());
      if (r() % 2) offsets.assign(chosen.rbegin(), chosen.rend());  // those of the transpose
      const bool by_row = r() % 2, together = r() % 2;
      const i64 stride = by_row ? rows : inner;
      std::vector<V> values, dense(static_cast<std::size_t>(rows * inner), V(0));
      for (const i64 o : offsets)
        for (i64 e = 0; e < stride; ++e) {
          const i64 i = by_row ? e : e - o, j = i + o;
          const bool outside = i < 0 || j < 0 || i >= rows || j >= inner;
          values.push_back(outside ? std::numeric_limits<V>::quiet_NaN() : static_cast<V>(r() % 17) - 8);
          if (!outside) dense[static_cast<std::size_t>(i * inner + j)] = values.back();
        }
      const i64 inside = turn % 3 ? static_cast<i64>(r() % (64 / sizeof(V))) : -1, middle = rows / 2;
      Sides<V> s(rows, inner, columns, inside, together, r);
      const Dense<V> d = s.arguments(choices<V>(r, together));
      loops.dia(0, middle, offsets.data(), static_cast<i64>(offsets.size()), values.data(), stride, by_row, inner, d);
      loops.dia(middle, rows, offsets.data(), static_cast<i64>(offsets.size()), values.data(), stride, by_row, inner,
                d);
      CHECK_MESSAGE(s.wrong(dense, d) == 0, rows << " x " << inner << ", " << offsets.size() << " diagonals, "
                                                 << columns << " columns, " << sizeof(V) << "-byte values, by row "
                                                 << by_row << " inside " << inside << " near " << d.near << " past "
                                                 << d.streaming);
    }
}

}  // namespace

TEST_CASE("loops of blocks: every instruction set, with every choice") {
  for (const LoopTable* t : tables_here()) {
    CAPTURE(std::string(t->isa));
    std::mt19937 r(21);
    check_blocks(t->f64.i32_i32, r);
    check_blocks(t->f64.i64_i64, r);
    check_blocks(t->f32.i32_i32, r);
    check_blocks(t->f32.i32_u16, r);
  }
}

TEST_CASE("loops of diagonals: every instruction set, with every choice") {
  for (const LoopTable* t : tables_here()) {
    CAPTURE(std::string(t->isa));
    std::mt19937 r(22);
    check_diagonals(t->f64.plain, r);
    check_diagonals(t->f32.plain, r);
  }
}

}  // namespace strata::kernels
