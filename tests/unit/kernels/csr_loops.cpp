// The loops of CSR, of CSR in tiles, and of sums of rows, of every instruction set that this machine has, with every
// choice that a caller makes for them.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "unit/kernels/tables.h"

namespace strata::kernels {

namespace {

/// Rows of 0 to `longest` elements, columns ascending. Vectors end where the last row does: what reads on is seen by a
/// sanitizer.
template <class V, class P, class C> struct Matrix {
  i64 rows, columns = 700;
  std::vector<P> pos{0};
  std::vector<C> crd;
  std::vector<V> values;
  Matrix(std::mt19937& r, i64 longest) : rows(longest > 100 ? 24 : 70) {
    for (i64 i = 0; i < rows; ++i) {
      const i64 each = i % 7 == 3 ? 0 : static_cast<i64>(r() % static_cast<unsigned>(longest + 1));
      for (i64 j = 0; j < columns; ++j)
        if (static_cast<i64>(r() % static_cast<unsigned>(columns)) < each)
          crd.push_back(static_cast<C>(j)), values.push_back(static_cast<V>(r() % 17) - 8);
      pos.push_back(static_cast<P>(crd.size()));
    }
    crd.shrink_to_fit(), values.shrink_to_fit();
  }
};

/// A product by `csr` in two pieces against sums of small integers, which are exact in any order. One row holds NaN,
/// which stays in it. Rows of x begin wherever they like, or (`inside` >= 0) all so many elements behind the beginning
/// of a line of the cache. Results that go past the caches follow each other, and begin with a line or one element
/// behind it.
template <class V, class P, class C, class Csr> void check(const Csr& csr, const Matrix<V, P, C>& source, i64 columns,
                                                           Dense<V> d, std::mt19937& r, bool ones = false,
                                                           i64 inside = -1) {
  auto m = source;
  constexpr i64 line = 64 / static_cast<i64>(sizeof(V));
  const i64 middle = m.rows / 2 - 2, ldx = inside < 0 ? columns + 3 : (columns + line - 1) / line * line,
            ldo = columns == 1  ? 1
                  : d.streaming ? columns
                                : columns + 1;
  i64 odd = middle;
  while (m.pos[static_cast<std::size_t>(odd)] == m.pos[static_cast<std::size_t>(odd) + 1]) ++odd;
  for (P k = m.pos[static_cast<std::size_t>(odd)]; k < m.pos[static_cast<std::size_t>(odd) + 1]; ++k)
    m.values[static_cast<std::size_t>(k)] = std::numeric_limits<V>::quiet_NaN();
  d.ldx = columns == 1 ? 1 : ldx, d.ldo = ldo, d.columns = columns;
  std::vector<V> space(static_cast<std::size_t>(m.columns * d.ldx + line), std::numeric_limits<V>::quiet_NaN()),
      held(static_cast<std::size_t>(m.rows * ldo + 2 * line), V(3));
  const i64 begins = static_cast<i64>(reinterpret_cast<std::uintptr_t>(space.data()) % 64 / sizeof(V));
  V* x = space.data() + (inside < 0 ? line : (inside - begins + line) % line);
  u32 any = static_cast<u32>(r());
  for (i64 k = 0; k < m.columns * d.ldx; ++k, any = any * 1664525u + 1013904223u)
    x[k] = ones ? V(1) : static_cast<V>((any >> 16) % 9) - 4;
  for (P k = m.pos[static_cast<std::size_t>(odd)]; k < m.pos[static_cast<std::size_t>(odd) + 1] && !ones;
       ++k)  // and what it alone reads of x is none either
    if (const C j = m.crd[static_cast<std::size_t>(k)]; std::ranges::count(m.crd, j) == 1)
      x[static_cast<i64>(j) * d.ldx] = std::numeric_limits<V>::quiet_NaN();
  const i64 lead = -static_cast<i64>(reinterpret_cast<std::uintptr_t>(held.data()) % 64 / sizeof(V)) & (line - 1);
  V* out = held.data() + lead + (d.streaming ? r() % 2 : 0);
  d.x = x, d.out = out;
  csr(0, middle, m.pos.data(), m.crd.data(), m.values.data(), d);
  csr(middle, m.rows, m.pos.data(), m.crd.data(), m.values.data(), d);
  i64 wrong = 0;
  std::vector<V> sums(static_cast<std::size_t>(columns));
  for (i64 i = 0; i < m.rows; ++i) {
    std::ranges::fill(sums, V(0));
    for (P k = m.pos[static_cast<std::size_t>(i)]; k < m.pos[static_cast<std::size_t>(i) + 1]; ++k) {
      const V* row = x + static_cast<i64>(m.crd[static_cast<std::size_t>(k)]) * d.ldx;
      const V a = m.values[static_cast<std::size_t>(k)];
      for (V& sum : sums) sum += a * *row++;
    }
    for (i64 c = 0; c < ldo; ++c) {
      const V want = c < columns ? d.alpha * sums[static_cast<std::size_t>(c)] + d.beta * V(3)
                                 : V(3);  // nothing is written between the rows
      const V got = out[i * ldo + c];
      wrong += !(got == want || (std::isnan(got) && std::isnan(want)));
    }
  }
  for (const V* p = held.data(); p < held.data() + held.size(); ++p)
    wrong += (p < out || p >= out + m.rows * ldo) && *p != V(3);
  CHECK_MESSAGE(wrong == 0, columns << " columns, " << sizeof(V) << "-byte values, " << sizeof(C)
                                    << "-byte columns, stream " << d.stream << " scattered " << d.scattered << " near "
                                    << d.near << " gathers " << d.gathers << " tile " << d.tile << " fours " << d.fours
                                    << " past " << d.streaming << " twice " << d.twice << " along " << d.along
                                    << " inside " << inside);
}

template <class V, class P, class C, class L> void check_all(const L& loops, std::mt19937& r) {
  for (const i64 longest : {9, 40, 500}) {
    const Matrix<V, P, C> m(r, longest);
    for (const i64 columns : {1, 3, 8, 16, 17, 32, 64, 131})
      for (int choice = 0; choice < 32; choice += one_of(7)) {
        Dense<V> d{};
        d.alpha = choice % 3 ? V(1) : V(-2), d.beta = choice % 5 ? V(0) : V(2);
        d.stream = choice & 1, d.scattered = choice & 2, d.near = d.second = choice & 4, d.gathers = choice & 8;
        d.tile = choice & 16 ? 16 << 10 : 0;
        d.fours = columns == 1 ? choice % (most_fours + 2) - 1 : 0;
        d.streaming = columns > 1 && d.beta == V(0) && r() % 2;
        d.twice = r() % 2;
        d.along = r() % 3 == 0;
        d.lead = static_cast<i64>(r() % 40) - 10;
        check<V, P, C>(loops.csr, m, columns, d, r);
        if (columns > 1) check<V, P, C>(loops.csr, m, columns, d, r, false, static_cast<i64>(r() % (64 / sizeof(V))));
      }
  }
}

/// The same matrix in tiles of 32 rows and 64 columns, stored anew for each call.
template <class V, class P, class C> struct InTiles {
  const TiledLoops<V, P, C>& loops;
  i64 rows, columns;
  template <class K> void operator()(i64 begin, i64 end, const P* pos, const K* crd, const V* values,
                                     const Dense<V>& d) const {
    const Tiling t{32, 64, (columns + 63) / 64};
    std::vector<P> in_pos{0};
    std::vector<C> in_crd;
    std::vector<V> in_values;
    for (i64 b = 0; b * t.height < rows; ++b)
      for (i64 j = 0; j < t.tiles; ++j)
        for (i64 i = b * t.height; i < (b + 1) * t.height; ++i) {
          for (i64 k = i < rows ? pos[i] : 0; i < rows && k < pos[i + 1]; ++k)
            if (crd[k] / t.width == j)
              in_crd.push_back(static_cast<C>(crd[k] % t.width)), in_values.push_back(values[k]);
          in_pos.push_back(static_cast<P>(in_crd.size()));
        }
    in_crd.shrink_to_fit(), in_values.shrink_to_fit();
    loops.tiled(begin, end, in_pos.data(), in_crd.data(), in_values.data(), t, d);
  }
};

template <class V, class P, class C> void check_tiled(const TiledLoops<V, P, C>& loops, std::mt19937& r) {
  for (const i64 longest : {9, 40, 500}) {
    const Matrix<V, P, i32> m(r, longest);
    for (int choice = 0; choice < 4; ++choice) {
      Dense<V> d{};
      d.alpha = choice % 3 ? V(1) : V(-2), d.beta = choice % 2 ? V(0) : V(2), d.gathers = choice > 1;
      check<V, P, i32>(InTiles<V, P, C>{loops, m.rows, m.columns}, m, 1, d, r);
    }
  }
}

template <class V, class P, class C, class L> void check_sums(const L& loops, std::mt19937& r) {
  if (!loops.row_sums) return;
  const auto sums = [&](i64 begin, i64 end, const P* pos, const C*, const V* values, const Dense<V>& d) {
    loops.row_sums(begin, end, pos, values, d);
  };
  for (const i64 longest : {9, 40, 500})
    for (int choice = 0; choice < 8; ++choice) {
      Dense<V> d{};
      d.alpha = choice & 1 ? V(1) : V(-2), d.beta = choice & 2 ? V(0) : V(2), d.stream = choice & 4;
      check<V, P, C>(sums, Matrix<V, P, C>(r, longest), 1, d, r, true);
    }
}

/// How many fours a row is given changes no bit of its sum, nor does where the rows are cut.
template <class V, class L> void check_bits(const L& loops, std::mt19937& r) {
  for (const i64 longest : {9, 40, 500}) {
    Matrix<V, i32, i32> m(r, longest);
    std::vector<V> x(static_cast<std::size_t>(m.columns)), first(static_cast<std::size_t>(m.rows)), out(first.size());
    for (auto* numbers : {&m.values, &x})
      for (V& v : *numbers) v = static_cast<V>(r()) / static_cast<V>(3e9);
    for (const i64 fours : {0, 1, 2, 3, 4, 5, 6, 7, 8, -1})
      for (const bool stream : {false, true}) {
        Dense<V> d{};
        d.x = x.data(), d.out = fours || stream ? out.data() : first.data(), d.ldx = d.ldo = d.columns = 1,
        d.alpha = V(1), d.fours = fours, d.stream = stream;
        const i64 middle = static_cast<i64>(r() % static_cast<unsigned>(m.rows));
        loops.csr(0, middle, m.pos.data(), m.crd.data(), m.values.data(), d);
        loops.csr(middle, m.rows, m.pos.data(), m.crd.data(), m.values.data(), d);
        if (d.out == out.data())
          CHECK_MESSAGE(out == first, sizeof(V) << "-byte values, " << fours << " fours, longest " << longest);
      }
  }
}

}  // namespace

TEST_CASE("CSR times a vector: the same bits however a row is summed") {
  for (const LoopTable* t : tables_here()) {
    CAPTURE(std::string(t->isa));
    std::mt19937 r(14);
    check_bits<double>(t->f64.i32_i32, r);
    check_bits<float>(t->f32.i32_i32, r);
  }
}

TEST_CASE("sums of rows: every instruction set") {
  for (const LoopTable* t : tables_here()) {
    CAPTURE(std::string(t->isa));
    std::mt19937 r(13);
    check_sums<double, i32, i32>(t->f64.i32_i32, r);
    check_sums<double, i64, i64>(t->f64.i64_i64, r);
    check_sums<float, i32, i32>(t->f32.i32_i32, r);
    check_sums<float, i64, i64>(t->f32.i64_i64, r);
  }
}

TEST_CASE("tiled loops: every instruction set") {
  for (const LoopTable* t : tables_here()) {
    CAPTURE(std::string(t->isa));
    std::mt19937 r(12);
    check_tiled(t->f64.tiled_i32_u8, r);
    check_tiled(t->f64.tiled_i64_i64, r);
    check_tiled(t->f32.tiled_i32_u8, r);
    check_tiled(t->f32.tiled_i32_u16, r);
    check_tiled(t->f32.tiled_i32_i32, r);
  }
}

TEST_CASE("CSR loops: every instruction set, with every choice") {
  for (const LoopTable* t : tables_here()) {
    CAPTURE(std::string(t->isa));
    std::mt19937 r(11);
    check_all<double, i32, i32>(loops_of<double>(*t).i32_i32, r);
    check_all<double, i64, i64>(loops_of<double>(*t).i64_i64, r);
    check_all<double, i32, u16>(loops_of<double>(*t).i32_u16, r);
    check_all<float, i32, i32>(loops_of<float>(*t).i32_i32, r);
    check_all<float, i64, i64>(loops_of<float>(*t).i64_i64, r);
    check_all<float, i64, i32>(loops_of<float>(*t).i64_i32, r);
    check_all<float, i32, u16>(loops_of<float>(*t).i32_u16, r);
  }
}

}  // namespace strata::kernels
