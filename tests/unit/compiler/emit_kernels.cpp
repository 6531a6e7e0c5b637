// Kernels as the lowering writes them: the interpreter, what the compilers make of the text, and plain C++ must agree.
#include "emit_kernels.h"

#include "emit_support.h"

using namespace emit_test;

namespace {

template <class T> std::vector<T> some(std::size_t n, std::uint64_t seed, double scale = 1) {
  std::mt19937_64 random(seed);
  std::vector<T> v(n);
  for (auto& x : v) x = static_cast<T>((static_cast<double>(random() % 2001) - 1000.0) / 64 * scale);
  return v;
}

struct Csr {
  std::vector<std::int64_t> pos = {0};
  std::vector<std::int32_t> crd;
};
Csr random_csr(std::size_t rows, int columns, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  Csr a;
  for (std::size_t i = 0; i < rows; ++i) {
    for (int j = static_cast<int>(random() % 5); j < columns; j += 1 + static_cast<int>(random() % 15))
      a.crd.push_back(j);
    if (i % 7 == 3) a.crd.resize(static_cast<std::size_t>(a.pos.back()));
    a.pos.push_back(static_cast<std::int64_t>(a.crd.size()));
  }
  return a;
}

/// `plain`: also for any x86-64, without fma or conversions in the processor.
void on_all_compilers(const Case& c, bool plain = false) {
  for (const auto& compiler : compilers())
    for (const char* flags : {"-O3 -march=native", "-O2"}) {
      if (flags[2] == '2' && !plain) continue;
      const Library library(compiler, {emit_c(c.f)}, flags);
      check_agree(c, library.find(c.f.name), compiler + " " + flags);
    }
}

/// What the interpreter writes to the last buffer.
template <class T> std::vector<T> interpreted(const Case& c, std::size_t buffer) {
  std::vector<Bytes> buffers;
  const auto kernel = ir::interpret(c.f);
  REQUIRE(run(c, buffers,
              [&](void* const* b, const std::int64_t* s) { return kernel->run({b, s}, c.begin, c.end, 0); }) == 0);
  const T* data = static_cast<const T*>(buffers[buffer].data());
  return {data, data + c.counts[buffer]};
}

Bytes narrowed(const std::vector<std::int64_t>& v) { return Bytes::of(std::vector<std::int32_t>(v.begin(), v.end())); }

}  // namespace

TEST_CASE("spmv over CSR") {
  const Csr a = random_csr(50, 40, 1);
  const auto val = some<double>(a.crd.size(), 2), x = some<double>(40, 3);
  Case c{spmv_csr(),
         {Bytes::of(a.pos), Bytes::of(a.crd), Bytes::of(val), Bytes::of(x), Bytes(50 * 8)},
         {0, 0, 0, 0, 50},
         {},
         0,
         50};
  std::vector<double> y(50);
  for (std::size_t i = 0; i < 50; ++i)
    for (auto p = static_cast<std::size_t>(a.pos[i]); p < static_cast<std::size_t>(a.pos[i + 1]); ++p)
      y[i] = std::fma(val[p], x[static_cast<std::size_t>(a.crd[p])], y[i]);
  CHECK(interpreted<double>(c, 4) == y);
  on_all_compilers(c, true);
}

TEST_CASE("spmm over CSR with vectors, in every storage of floats") {
  const Csr a = random_csr(20, 12, 4);
  for (DType t : {DType::f64, DType::f32, DType::f16, DType::bf16, DType::f8e4m3, DType::f8e5m2})
    for (int lanes : {2, 4, 8, 16}) {
      if (lanes != 8 && t != DType::f32 && lanes * static_cast<int>(size_of(t)) != 32)
        continue;  // compiling is what takes the time
      const std::size_t k = static_cast<std::size_t>(2 * lanes);
      const auto stored = [t](const std::vector<double>& v) {
        Bytes b(v.size() * size_of(t));
        for (std::size_t i = 0; i < v.size(); ++i)
          Scalar::of(v[i]).as(t).store(static_cast<char*>(b.data()) + i * size_of(t));
        return b;
      };
      Case c{spmm_csr(t, lanes),
             {narrowed(a.pos), Bytes::of(a.crd), stored(some<double>(a.crd.size(), 5, 0.1)),
              stored(some<double>(12 * k, 6, 0.1)), Bytes(20 * k * size_of(t))},
             {0, 0, 0, 0, 20 * k},
             {},
             0,
             20};
      for (const auto& compiler : compilers()) {
        const Library library(compiler, {emit_c(c.f)}, "-O3 -march=native");
        check_agree(c, library.find(c.f.name), compiler);
      }
    }
}

TEST_CASE("packed distances, and a kernel that fails") {
  std::mt19937_64 random(7);
  std::vector<std::int64_t> pos = {0};
  std::vector<std::uint64_t> words(40);
  for (auto& w : words) w = random() & 0x7777777777777777ull;
  for (int i = 0; i < 9; ++i) pos.push_back(pos.back() + static_cast<std::int64_t>(random() % 30));
  const auto n = static_cast<std::size_t>(pos.back());
  Case c{spmv_delta(),
         {narrowed(pos), Bytes::of(words), Bytes::of(some<float>(n, 8)), Bytes::of(some<float>(300, 9)), Bytes(9 * 4)},
         {0, 0, 0, 0, 9},
         {300},
         0,
         9};
  std::vector<float> expected;
  const auto val = some<float>(n, 8), x = some<float>(300, 9);
  for (std::size_t i = 0; i < 9; ++i) {
    float s = 0;
    std::size_t j = static_cast<std::size_t>(-1);
    for (auto p = static_cast<std::size_t>(pos[i]); p < static_cast<std::size_t>(pos[i + 1]); ++p) {
      j += 1 + (words[p / 16] >> (p % 16 * 4) & 15);
      s = std::fma(val[p], x[j], s);
    }
    expected.push_back(s);
  }
  CHECK(interpreted<float>(c, 4) == expected);
  on_all_compilers(c);
  c.scalars = {20};  // some column is now beyond: status 7 from every engine
  std::vector<Bytes> buffers;
  const auto kernel = ir::interpret(c.f);
  CHECK(run(c, buffers, [&](void* const* b, const std::int64_t* s) { return kernel->run({b, s}, 0, 9, 0); }) == 7);
  on_all_compilers(c);
}

TEST_CASE("bitmap walk") {
  std::mt19937_64 random(11);
  std::vector<std::uint64_t> words(3 * 6);
  for (auto& w : words) w = random() & random();
  words[2] = 0;
  words[5] = ~std::uint64_t{0};
  const auto val = some<double>(6 * 192, 12), x = some<double>(192, 13);
  Case c{spmv_bitmap(),
         {Bytes::of(words), Bytes::of(val), Bytes::of(x), Bytes(48), Bytes(48)},
         {0, 0, 0, 6, 6},
         {3},
         0,
         6};
  std::vector<double> y(6);
  std::vector<std::int64_t> count(6);
  for (std::size_t i = 0; i < 6; ++i)
    for (std::size_t j = 0; j < 192; ++j)
      if (words[i * 3 + j / 64] >> (j % 64) & 1) {
        y[i] += val[i * 192 + j] * x[j];
        ++count[i];
      }
  CHECK(interpreted<double>(c, 3) == y);
  CHECK(interpreted<std::int64_t>(c, 4) == count);
  on_all_compilers(c);
}

TEST_CASE("&& keeps a merge within its arrays") {
  const std::vector<std::int32_t> ca = {1, 4, 6, 9, 70000};
  const std::vector<std::uint16_t> cb = {0, 1, 5, 6, 8, 9};
  Case c{merge_dot(),
         {Bytes::of(ca), Bytes::of(some<double>(5, 14)), Bytes::of(cb), Bytes::of(some<double>(6, 15)), Bytes(8)},
         {0, 0, 0, 0, 1},
         {5, 6},
         0,
         1};
  const auto va = some<double>(5, 14), vb = some<double>(6, 15);
  CHECK(interpreted<double>(c, 4)[0] == std::fma(va[3], vb[5], std::fma(va[2], vb[3], va[0] * vb[1])));
  on_all_compilers(c);
  // Heap arrays that end exactly where the data ends: sanitizers see a read beyond.
  std::vector<double> y(1);
  auto a = ca;
  auto b = cb;
  auto v = va, w = vb;
  void* buffers[] = {a.data(), v.data(), b.data(), w.data(), y.data()};
  const std::int64_t scalars[] = {5, 6};
  CHECK(ir::interpret(c.f)->run({buffers, scalars}, 0, 1, 0) == 0);
}

TEST_CASE("complex numbers as pairs") {
  Case c{complex_multiply(),
         {Bytes::of(some<float>(64, 16)), Bytes::of(some<float>(64, 17)), Bytes(256)},
         {0, 0, 64},
         {},
         0,
         32};
  const auto a = some<float>(64, 16), x = some<float>(64, 17), y = interpreted<float>(c, 2);
  for (std::size_t i = 0; i < 64; i += 2) {
    CHECK(y[i] == a[i] * x[i] - a[i + 1] * x[i + 1]);
    CHECK(y[i + 1] == std::fma(a[i], x[i + 1], a[i + 1] * x[i]));
  }
  on_all_compilers(c);
}

TEST_CASE("lanes are added in a fixed tree") {
  for (int lanes : {2, 4, 8, 16}) {
    Case c{row_dots(lanes),
           {Bytes::of(some<double>(5 * 37, 18)), Bytes::of(some<double>(37, 19)), Bytes(40)},
           {0, 0, 5},
           {37},
           0,
           5};
    const auto a = some<double>(5 * 37, 18), x = some<double>(37, 19), y = interpreted<double>(c, 2);
    for (std::size_t i = 0; i < 5; ++i) {
      std::vector<double> s(static_cast<std::size_t>(lanes));
      const std::size_t whole = 37 / s.size() * s.size();
      for (std::size_t k = 0; k < whole; ++k) s[k % s.size()] = std::fma(a[i * 37 + k], x[k], s[k % s.size()]);
      for (std::size_t half = s.size() / 2; half > 0; half /= 2)
        for (std::size_t k = 0; k < half; ++k) s[k] += s[k + half];
      for (std::size_t k = whole; k < 37; ++k) s[0] += a[i * 37 + k] * x[k];
      CHECK(y[i] == s[0] * 0.25);
    }
    if (lanes == 4) on_all_compilers(c, true);
  }
}

TEST_CASE("packed slots are written by or") {
  for (int bits : {1, 3, 4, 7, 13, 31, 33, 57}) {
    std::vector<std::int64_t> from(100);
    std::mt19937_64 random(static_cast<std::uint64_t>(bits));
    for (auto& v : from) v = static_cast<std::int64_t>(random() & ((std::uint64_t{1} << bits) - 1));
    const std::size_t words = static_cast<std::size_t>(bits * 100 + 63) / 64;
    Case c{pack(bits), {Bytes::of(from), Bytes(words * 8 + 8), Bytes(16)}, {0, words, 4}, {}, 0, 100};
    const auto packed = interpreted<std::uint64_t>(c, 1);
    for (int i = 0; i < 100; ++i) {
      std::uint64_t slot = 0;
      for (int k = 0; k < bits; ++k) {
        const auto at = static_cast<std::size_t>(i * bits + k);
        slot |= (packed[at / 64] >> (at % 64) & 1) << k;
      }
      CHECK(slot == static_cast<std::uint64_t>(from[static_cast<std::size_t>(i)]));
    }
    if (bits == 3 || bits == 57) on_all_compilers(c);
  }
}

TEST_CASE("every pattern of the small floats, loaded and stored") {
  struct Layout {
    DType dtype;
    int patterns;
    float (*widen)(unsigned);
  };
  const Layout layouts[] = {
      {DType::f16, 65536, [](unsigned b) { return f16_to_f32(static_cast<std::uint16_t>(b)); }},
      {DType::bf16, 65536, [](unsigned b) { return bf16_to_f32(static_cast<std::uint16_t>(b)); }},
      {DType::f8e4m3, 256, [](unsigned b) { return f8e4m3_to_f32(static_cast<std::uint8_t>(b)); }},
      {DType::f8e5m2, 256, [](unsigned b) { return f8e5m2_to_f32(static_cast<std::uint8_t>(b)); }}};
  for (const auto& l : layouts)
    for (int lanes : {1, 8}) {
      // wide = patterns as f32; back = their neighbourhood (the value, and just beside the middle to the next one)
      // stored again.
      const ir::BufferParam in{"in", l.dtype}, near{"near", DType::f32}, wide{"wide", DType::f32, 0, true},
          back{"back", l.dtype, 0, true};
      ir::Function f{"small_floats", {in, near, wide, back}, {}, nullptr};
      const Expr i = ir::var("i");
      f.body = ir::block(
          {ir::loop("i", ir::int_const(0), ir::var("end"), ir::store(wide, 2, i, ir::load(in, 0, i, lanes)), lanes),
           ir::loop("i", ir::int_const(0), ir::var("end") * 5, ir::store(back, 3, i, ir::load(near, 1, i, lanes)),
                    lanes)});
      const auto n = static_cast<std::size_t>(l.patterns);
      Bytes patterns(n * size_of(l.dtype));
      std::vector<float> values(5 * n);
      for (std::size_t b = 0; b < n; ++b) {
        if (size_of(l.dtype) == 2) patterns.at<std::uint16_t>(b) = static_cast<std::uint16_t>(b);
        else patterns.at<std::uint8_t>(b) = static_cast<std::uint8_t>(b);
        const float v = l.widen(static_cast<unsigned>(b)), w = l.widen(static_cast<unsigned>((b + 1) % n));
        const float middle = v + (w - v) / 2;
        const float all[] = {v, middle, std::nextafter(middle, v), std::nextafter(middle, w), v * 1.7f};
        std::copy(all, all + 5, values.begin() + static_cast<std::ptrdiff_t>(5 * b));
      }
      Case c{f,
             {patterns, Bytes::of(values), Bytes(n * 4), Bytes(5 * n * size_of(l.dtype))},
             {0, 0, n, 5 * n},
             {},
             0,
             static_cast<std::int64_t>(n)};
      CAPTURE(name_of(l.dtype));
      // The interpreter itself against the conversions of base.
      const auto wides = interpreted<float>(c, 2);
      for (std::size_t b = 0; b < n; ++b) {
        const float v = l.widen(static_cast<unsigned>(b));
        if (std::isnan(v) ? !std::isnan(wides[b]) : std::memcmp(&v, &wides[b], 4) != 0) FAIL(b);
      }
      on_all_compilers(c, true);  // with the processor's own conversions, and with integer code
    }
}

TEST_CASE("a kernel that hides names, and loops whose end changes") {
  const ir::BufferParam y{"y", DType::i64, 0, true};
  const Expr n = ir::var("n"), x = ir::var("x");
  ir::Function f{"names", {y}, {}, nullptr};
  f.body = ir::block({
      ir::declare("n", ir::int_const(3)),
      ir::let("x", n * 10),
      ir::loop("i", ir::int_const(0), n,
               ir::block({
                   ir::assign("n", n + 5),          // the loop still runs three times
                   ir::let("x", x + ir::var("i")),  // of the outer x
                   ir::branch(ir::gt(ir::var("i"), ir::int_const(0)),
                              ir::block({ir::let("x", x * 2), ir::store(y, 0, ir::var("i"), x)}),
                              ir::branch(ir::eq(n, ir::int_const(8)), ir::store(y, 0, ir::int_const(0), x))),
               })),
      ir::store(y, 0, ir::int_const(3), x),
      ir::store(y, 0, ir::int_const(4), n),
  });
  Case c{f, {Bytes(40)}, {5}, {}, 0, 1};
  CHECK(interpreted<std::int64_t>(c, 0) == std::vector<std::int64_t>{30, 62, 64, 30, 18});
  on_all_compilers(c);
}
