// The loops of sums of CSR matrices, of every instruction set that has them, beside a merge element by element.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "unit/kernels/tables.h"

namespace strata::kernels {

namespace {

template <class V, class P> struct Rows {
  std::vector<P> pos{0};
  std::vector<i32> crd;
  std::vector<V> values;
  std::vector<i32> drawn;  // the columns of a group of rows

  void add(i32 column, std::mt19937& r) {
    constexpr V infinity = std::numeric_limits<V>::infinity();
    constexpr V some[] = {V(0), -V(0), V(1.5), V(-2), V(7), V(0.1), infinity, std::numeric_limits<V>::quiet_NaN()};
    crd.push_back(column), values.push_back(some[r() % 8]);
  }
  void end() { pos.push_back(static_cast<P>(crd.size())); }
  /// Vectors end where the last row does: what reads on is seen by a sanitizer.
  void close() { crd.shrink_to_fit(), values.shrink_to_fit(); }
};

enum class Pattern { any, blocks, same, apart, nearly_empty, alike };

/// Two matrices of 90 rows; those of the second are like the first one's, or not. Gives their columns: few, or all that
/// may be.
template <class V, class P> i64 fill(Rows<V, P>& a, Rows<V, P>& b, Pattern how, std::mt19937& r) {
  const i32 columns = how == Pattern::nearly_empty ? 5 : 40 + static_cast<i32>(r() % 200);
  constexpr i32 sizes[] = {0, 1 << 20, 1 << 28, std::numeric_limits<i32>::max()};
  const i32 last = std::max(columns, sizes[r() % 4]) - 1;
  for (int row = 0, again = 0; row < 90; ++row, --again) {
    if (how == Pattern::alike) {  // rows in groups of one to six, most of them more, that share their columns in both
      if (again <= 0) {
        again = r() % 5 == 0 ? 1 : 2 + static_cast<int>(r() % 5);
        for (auto* m : {&a, &b}) {
          m->drawn.clear();
          const unsigned one_of = 1 + r() % 9;
          for (i32 j = 0; j < columns; ++j)
            if (r() % one_of == 0) m->drawn.push_back(j == columns - 1 ? last : j);
        }
      }
      for (auto* m : {&a, &b}) {
        for (const i32 j : m->drawn) m->add(j, r);
        m->end();
      }
      continue;
    }
    const auto one_of = how == Pattern::nearly_empty ? 12 : 1 + r() % 12;
    const bool no_a = r() % 9 == 0 || (how == Pattern::nearly_empty && row > 60), no_b = r() % 9 == 0;
    for (i32 j = 0; j < columns; ++j) {
      const i32 block = j / 4;
      const bool in_a = how == Pattern::blocks  ? (block * 7 + row / 4) % 3 == 0
                        : how == Pattern::apart ? j < columns / 2 && r() % 3 == 0
                                                : r() % one_of == 0;
      const bool in_b = how == Pattern::blocks  ? (block * 5 + row / 4) % 4 == 0
                        : how == Pattern::apart ? j >= columns / 2 && r() % 3 == 0
                        : how == Pattern::same  ? in_a
                                                : r() % one_of == 0;
      if (in_a && !no_a) a.add(j == columns - 1 ? last : j, r);
      if (in_b && !no_b) b.add(j == columns - 1 ? last : j, r);
    }
    a.end(), b.end();
  }
  a.close(), b.close();
  return i64{last} + 1;
}

/// Their bits, but for which NaN it is: which of two a sum hands on, the order of the operands decides.
template <class V> bool same_bits(V x, V y) { return (x != x && y != y) || std::memcmp(&x, &y, sizeof(V)) == 0; }

template <class V, class P> void check(const SumLoops<V, P>& loops, Pattern how, bool minus, std::mt19937& r) {
  Rows<V, P> a, b;
  const i64 columns = fill(a, b, how, r);
  const i64 rows = 90, begin = r() % 3 == 0 ? 17 : 0, end = r() % 3 == 0 ? 71 : rows;
  std::vector<i32> want_crd;
  std::vector<V> want;
  std::vector<i64> want_ends;
  for (i64 i = begin; i < end; ++i) {
    std::map<i32, V> sums;
    const auto at = [](P p) { return static_cast<std::size_t>(p); };
    const std::size_t row = static_cast<std::size_t>(i);
    for (std::size_t p = at(a.pos[row]); p < at(a.pos[row + 1]); ++p)
      sums[a.crd[p]] = minus ? a.values[p] - V(0) : a.values[p] + V(0);
    for (std::size_t p = at(b.pos[row]); p < at(b.pos[row + 1]); ++p) {
      const auto found = sums.find(b.crd[p]);
      V x = 0;
      if (found != sums.end()) {
        for (std::size_t q = at(a.pos[row]); q < at(a.pos[row + 1]); ++q)
          if (a.crd[q] == b.crd[p]) x = a.values[q];
      }
      sums[b.crd[p]] = minus ? x - b.values[p] : x + b.values[p];
    }
    for (const auto& [column, x] : sums) want_crd.push_back(column), want.push_back(x);
    want_ends.push_back(static_cast<i64>(want.size()));
  }
  const std::size_t room = static_cast<std::size_t>(
      a.pos[static_cast<std::size_t>(end)] - a.pos[static_cast<std::size_t>(begin)] +
      b.pos[static_cast<std::size_t>(end)] - b.pos[static_cast<std::size_t>(begin)] + most_united);
  std::vector<i32> crd(room);
  std::vector<V> values(room);
  std::vector<i64> ends(static_cast<std::size_t>(end - begin));
  const i64 came = loops.csr_add_rows(begin, end, columns, a.pos.data(), a.crd.data(), a.values.data(), b.pos.data(),
                                      b.crd.data(), b.values.data(), minus, crd.data(), values.data(), ends.data());
  REQUIRE(came == static_cast<i64>(want.size()));
  CHECK(ends == want_ends);
  crd.resize(want.size());
  CHECK(crd == want_crd);
  for (std::size_t k = 0; k < want.size(); ++k)
    if (!same_bits(values[k], want[k])) FAIL("element " << k << ": " << values[k] << " instead of " << want[k]);
}

}  // namespace

TEST_CASE("sums of matrices: every instruction set") {
  int had = 0;
  for (const LoopTable* t : tables_here()) {
    if (!t->f64.sum_i32.csr_add_rows) continue;
    ++had;
    CAPTURE(std::string(t->isa));
    std::mt19937 r(15);
    for (int round = 0; round < 40; round += one_of(7))
      for (const Pattern how :
           {Pattern::any, Pattern::blocks, Pattern::same, Pattern::apart, Pattern::nearly_empty, Pattern::alike}) {
        CAPTURE(static_cast<int>(how));
        check(t->f32.sum_i32, how, round % 2 != 0, r);
        check(t->f32.sum_i64, how, round % 2 != 0, r);
        check(t->f64.sum_i32, how, round % 2 != 0, r);
        check(t->f64.sum_i64, how, round % 2 != 0, r);
      }
  }
#if defined(__x86_64__)
  CHECK(had == static_cast<int>(tables_here().size()) - 1);  // all but the loops of any processor
#endif
}

}  // namespace strata::kernels
