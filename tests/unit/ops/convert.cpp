// Conversion by the general path, against a list of elements and nothing else.
#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <map>
#include <random>

#include "strata/ops.h"
#include "strata/settings.h"

using namespace strata;

namespace {

using Coordinates = std::vector<std::int64_t>;
using Elements = std::map<Coordinates, double>;

template <class T> Buffer array(const std::vector<T>& v) { return Buffer::copy_of(std::span<const T>(v)); }

std::uint64_t bits(double x) {
  std::uint64_t u;
  std::memcpy(&u, &x, 8);
  return u;
}

/// What a tensor stores, by the obvious walk; duplicates add.
Elements stored(const Tensor& t) {
  Elements out;
  for_each_stored(t, [&](std::span<const std::int64_t> c, const void* p) {
    const double x = Scalar::load(t.dtype(), p).to_double();
    const auto [at, fresh] = out.try_emplace(Coordinates(c.begin(), c.end()), x);
    if (!fresh) at->second += x;
  });
  return out;
}

/// t holds exactly these elements, and fill-in of +0 besides only where its format can hold it; element access agrees.
void check_holds(const Tensor& t, const Elements& expected) {
  CHECK_NOTHROW(t.validate());
  const Elements got = stored(t);
  std::size_t extra = 0;
  for (const auto& [c, x] : got) {
    const auto e = expected.find(c);
    if (e == expected.end()) {
      ++extra;
      REQUIRE(bits(x) == 0);
    } else {
      REQUIRE(bits(x) == bits(e->second));
    }
    const auto direct = t.get(c);
    REQUIRE(direct);
    REQUIRE(bits(direct->to_double()) == bits(x));
  }
  REQUIRE(got.size() - extra == expected.size());
  bool may = false;
  for (int k = 0; k < t.num_parts(); ++k) may = may || t.part(k).format.can_hold_fill();
  if (!may) CHECK(extra == 0);
}

Tensor coo_of(const Elements& elements, const Shape& shape, const Format& format, const ConvertOptions& options = {}) {
  std::vector<std::vector<std::int64_t>> columns(shape.size());
  std::vector<double> values;
  for (const auto& [c, x] : elements) {
    for (std::size_t d = 0; d < c.size(); ++d) columns[d].push_back(c[d]);
    values.push_back(x);
  }
  std::vector<Buffer> coords;
  for (const auto& c : columns) coords.push_back(array(c));
  return from_coo(coords, array(values), shape, format, options);
}

Elements random_elements(std::mt19937& random, const Shape& shape, double density, bool zeros) {
  Elements out;
  Coordinates c(shape.size(), 0);
  std::int64_t n = 1;
  for (auto e : shape) n *= e;
  for (std::int64_t k = 0; k < n; ++k) {
    std::int64_t rest = k;
    for (std::size_t d = c.size(); d-- > 0;) c[d] = rest % shape[d], rest /= shape[d];
    if (std::uniform_real_distribution<>(0, 1)(random) >= density) continue;
    double x = static_cast<double>(1 + random() % 9);
    if (zeros) {
      const auto pick = random() % 8;
      if (pick == 0) x = 0.0;
      if (pick == 1) x = -0.0;
    }
    out[c] = x;
  }
  return out;
}

const char* const matrix_formats[] = {
    "dense",
    "CSR",
    "CSC",
    "COO",
    "DCSR",
    "(i, j) -> (j : dense, i : dense)",
    "(i, j) -> (i : compressed, j : dense)",
    "(i, j) -> (j : compressed, i : dense)",
    "BSR(2, 2)",
    "BSR(2, 3)",
    "(i, j) -> (j / 2 : dense, i / 3 : compressed, j % 2 : dense, i % 3 : dense)",
    "(i, j) -> (j - i : compressed, i : range)",
    "(i, j) -> (j - i : compressed, j : range)",
    "(i, j) -> (i + j : compressed, i : range)",
    "(i, j) -> (i - j : compressed, j : range)",
    "(i, j) -> (i : dense, j : delta(1))",
    "(i, j) -> (i : dense, j : delta(2))",
    "(i, j) -> (j : compressed, i : delta(3))",
    "(i, j) -> (i : dense, j : padded)",
    "(i, j) -> (j : dense, i : padded)",
    "(i, j) -> (i / 2 : dense, j / 2 : padded, i % 2 : dense, j % 2 : dense)",
    "(i, j) -> (i : dense, j : bitmap)",
    "(i, j) -> (i : compressed, j : bitmap)",
    "(i, j) -> (i / 2 : bitmap, j / 2 : bitmap, i % 2 : dense, j % 2 : dense)",
    "(i, j) -> (i : dense, j / 4 : dense, j % 4 : structured(4))",
    "(i, j) -> (i : dense, j / 4 : compressed, j % 4 : structured(4))",
    ("(i, j) -> (i / 4 : dense, j / 4 : compressed, (i % 4) / 2 : dense, (j % 4) / 2 : compressed, (i % 4) % 2 : "
     "dense, "
     "(j % 4) % 2 : dense)"),
    "(i, j) -> (i : compressed(nonunique, unordered), j : singleton(nonunique, unordered))",
    "(i, j) -> (i : dense, j : compressed(nonunique, unordered))",
    "(i, j) -> (i / 2 : compressed(nonunique), j / 2 : singleton, i % 2 : dense, j % 2 : dense)",
    "BSR(2, 2) + COO",
    "(i, j) -> (i : dense, j : padded) + COO",
    "DIAJ + BSR(2, 2) + COO",
    "(i, j) -> (i : dense, j / 4 : dense, j % 4 : structured(2)) + CSR",
    "CSR + CSC",
};

Format format(const std::string& text, int rank = 2) { return parse_format(text, rank); }

}  // namespace

TEST_CASE("every pair of matrix formats") {
  std::mt19937 random(1);
  int done = 0;
  for (const char* from : matrix_formats)
    for (const char* to : matrix_formats) {
      const Shape shape = {static_cast<std::int64_t>(random() % 8), static_cast<std::int64_t>(1 + random() % 9)};
      const Elements elements = random_elements(random, shape, std::uniform_real_distribution<>(0, 1)(random), false);
      CAPTURE(from);
      CAPTURE(to);
      const Tensor a = coo_of(elements, shape, format(from));
      check_holds(a, elements);
      const Tensor b = convert_general(a, format(to));
      check_holds(b, elements);
      ++done;
    }
  CHECK(done > 900);
}

TEST_CASE("all dense and compressed formats to rank 4") {
  std::mt19937 random(2);
  for (int rank = 1; rank <= 4; ++rank) {
    std::vector<int> order;
    for (int d = 0; d < rank; ++d) order.push_back(d);
    Shape shape;
    for (int d = 0; d < rank; ++d) shape.push_back(static_cast<std::int64_t>(1 + random() % 4));
    const Elements elements = random_elements(random, shape, 0.3, true);
    const Tensor source = coo_of(elements, shape, format("COO", rank));
    do {
      for (int kinds = 0; kinds < 1 << rank; ++kinds) {
        std::string dims, levels;
        for (int d = 0; d < rank; ++d) {
          dims += (d ? ", d" : "d") + std::to_string(d);
          levels += (d ? ", d" : "d") + std::to_string(order[static_cast<std::size_t>(d)]) +
                    (kinds >> d & 1 ? " : compressed" : " : dense");
        }
        const std::string text = "(" + dims + ") -> (" + levels + ")";
        CAPTURE(text);
        const Tensor t = convert_general(source, parse_format(text));
        // A dense leaf stores +0 where nothing was, so explicit zeros are indistinguishable there, and kept all the
        // same.
        check_holds(t, elements);
        const Tensor back = convert_general(t, format("COO", rank), {.zeros = Zeros::keep});
        check_holds(convert_general(back, parse_format(text)), stored(t));
      }
    } while (std::next_permutation(order.begin(), order.end()));
  }
}

TEST_CASE("duplicates add, in every dtype") {
  const std::vector<std::int64_t> i = {1, 0, 1, 1}, j = {2, 0, 2, 2};
  const Buffer coords[] = {array(i), array(j)};
  const auto sum = [&](DType dtype, std::vector<double> v) {
    const Tensor t = from_coo(coords, array(v).cast(dtype), {2, 3}, format("CSR"));
    CHECK(t.nse() == 2);
    return *t.get(Coordinates{1, 2});
  };
  for (DType d : {DType::f64, DType::f32, DType::f16, DType::bf16, DType::f8e4m3, DType::f8e5m2, DType::i8, DType::i16,
                  DType::i32, DType::i64, DType::u8, DType::u16, DType::u32, DType::u64, DType::c64, DType::c128}) {
    CAPTURE(name_of(d));
    CHECK(sum(d, {1, 5, 2, 4}).same_bits(Scalar::of(7.0).as(d)));
  }
  CHECK(sum(DType::i8, {100, 5, 100, 0}).to_int64() == -56);
  CHECK(sum(DType::u8, {200, 5, 100, 0}).to_int64() == 44);
  CHECK(sum(DType::boolean, {1, 1, 1, 1}).same_bits(Scalar::of(true)));
  CHECK(sum(DType::boolean, {0, 1, 0, 0}).same_bits(Scalar::of(false)));
  // Bytes as f64 adds in order: (1e16 + 1) - 1e16 is 0 there, not 1.
  CHECK(sum(DType::f64, {1e16, 5, 1, -1e16}).to_double() == (1e16 + 1) - 1e16);
}

TEST_CASE("zeros: formats that can hold fill-in drop zeros of either sign, others keep every slot") {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const Elements elements = {{{0, 0}, 0.0}, {{0, 1}, -0.0}, {{1, 1}, nan}, {{2, 2}, 3.0}};
  const Tensor coo = coo_of(elements, {3, 3}, format("COO"));
  check_holds(convert_general(coo, format("CSR")), elements);
  const Elements without = {{{1, 1}, nan}, {{2, 2}, 3.0}};
  for (const char* through :
       {"dense", "BSR(2, 2)", "(i, j) -> (j - i : compressed, i : range)", "(i, j) -> (i : dense, j : delta(2))"}) {
    CAPTURE(through);
    const Tensor t = convert_general(coo, format(through));
    check_holds(convert_general(t, format("CSR")), without);
    const Tensor kept = convert_general(t, format("CSR"), {.zeros = Zeros::keep});
    CHECK(kept.nse() == t.nse());
  }
}

TEST_CASE("a fill other than zero") {
  const std::vector<double> v = {7, 7, 0, 7, 1, 7};
  RawArrays a;
  a.values = array(v);
  const Tensor dense = make_tensor(format("dense"), {2, 3}, a);
  const Tensor t = from_dense(dense, format("CSR"), 0, Scalar::of(7.0));
  CHECK(t.nse() == 2);
  CHECK(t.fill().to_double() == 7);
  const Tensor back = to_dense(t);
  CHECK(std::equal(v.begin(), v.end(), back.values().as<double>().begin()));
  const Tensor blocks = convert_general(t, format("BSR(2, 2)"));
  CHECK(blocks.get(Coordinates{1, 2})->to_double() == 7);
  CHECK(convert_general(blocks, format("COO")).nse() == 2);
}

TEST_CASE("thresholds") {
  const std::vector<double> v = {0.1, -0.5, 2, std::numeric_limits<double>::quiet_NaN()};
  RawArrays a;
  a.values = array(v);
  const Tensor dense = make_tensor(parse_format("dense", 1), {4}, a);
  CHECK(from_dense(dense, parse_format("COO", 1), 0.5).nse() == 2);
  CHECK(from_dense(dense, parse_format("COO", 1), 0.4).nse() == 3);
  CHECK_THROWS_AS(from_dense(dense, parse_format("COO", 1), -1), TensorError);
}

TEST_CASE("dtypes and index types on the way") {
  std::mt19937 random(3);
  const Elements elements = random_elements(random, {9, 11}, 0.4, false);
  const Tensor t = coo_of(elements, {9, 11}, format("COO"));
  for (DType d : {DType::i8, DType::i16, DType::i32, DType::i64, DType::u8, DType::u16, DType::u32, DType::u64}) {
    const Tensor c = convert_general(t, format("CSR"), {.dtype = DType::f32, .pos_dtype = d, .crd_dtype = d});
    CHECK(c.dtype() == DType::f32);
    CHECK(c.type().pos_dtype == d);
    CHECK(c.crd(1).dtype == d);
    check_holds(c, elements);
    check_holds(convert_general(c, format("(i, j) -> (i : dense, j : padded)"), {.crd_dtype = d}), elements);
  }
  CHECK_THROWS_AS(convert_general(t, format("CSR"), {.pos_dtype = DType::f32}), DTypeError);
  const Tensor wide = coo_of({{{0, 300}, 1.0}}, {1, 301}, format("COO"));
  CHECK_THROWS_AS(convert_general(wide, format("CSR"), {.crd_dtype = DType::u8}), TensorError);
  CHECK_NOTHROW(
      convert_general(coo_of({{{0, 200}, 1.0}}, {1, 301}, format("COO")), format("CSR"), {.crd_dtype = DType::u8}));
  CHECK_THROWS_AS(convert_general(t, format("(i, j) -> (j - i : compressed, i : range)"), {.crd_dtype = DType::u16}),
                  TensorError);
  CHECK_THROWS_AS(convert_general(coo_of({}, {1, 256}, format("COO")), format("(i, j) -> (i : dense, j : padded)"),
                                  {.crd_dtype = DType::u8}),
                  TensorError);
}

TEST_CASE("automatic index types follow the limit") {
  struct Limit {
    long long before = settings().int32_limit;
    ~Limit() { settings().int32_limit = before; }
  } restore;
  settings().int32_limit = 10;
  std::mt19937 random(4);
  const Elements few = random_elements(random, {4, 4}, 0.3, false), many = random_elements(random, {6, 6}, 0.9, false);
  REQUIRE(few.size() <= 10);
  REQUIRE(many.size() > 10);
  CHECK(coo_of(few, {4, 4}, format("CSR")).type().pos_dtype == DType::i32);
  CHECK(coo_of(few, {4, 4}, format("CSR")).type().crd_dtype == DType::i32);
  CHECK(coo_of(many, {6, 6}, format("CSR")).type().pos_dtype == DType::i64);
  CHECK(coo_of(many, {6, 6}, format("CSR")).type().crd_dtype == DType::i32);
  CHECK(coo_of(few, {4, 40}, format("CSR")).type().crd_dtype == DType::i64);
}

TEST_CASE("cost follows entries") {
  const std::int64_t big = 1000000000;
  const Elements elements = {{{5, big - 1}, 1.0}, {{big - 1, 0}, 2.0}, {{big - 1, 7}, 3.0}};
  for (const char* f :
       {"COO", "DCSR", "(i, j) -> (j : compressed, i : compressed)",
        "(i, j) -> (i / 4 : compressed, j / 4 : compressed, i % 4 : dense, j % 4 : dense)",
        "(i, j) -> (i : compressed, j : delta(30))", "(i, j) -> (j - i : compressed, i : compressed)"}) {
    CAPTURE(f);
    const Tensor t = coo_of(elements, {big, big}, format(f));
    check_holds(convert_general(t, format("COO")), elements);
  }
  const Tensor t = coo_of(elements, {big, big}, format("COO"));
  CHECK_THROWS(static_cast<void>(to_dense(t)));
  CHECK_THROWS(static_cast<void>(convert_general(t, format("(i, j) -> (i : dense, j : bitmap)"))));
  const std::int64_t huge = std::int64_t{1} << 40;
  const Elements five = {
      {{huge - 1, huge - 1, 0, huge - 1, 1}, 1.0}, {{0, huge - 1, huge - 1, 5, 1}, 2.0}, {{0, huge - 1, 0, 5, 1}, 4.0}};
  const Tensor far = coo_of(five, {huge, huge, huge, huge, huge}, format("COO", 5));
  check_holds(far, five);
  CHECK_FALSE(far.size());
  check_holds(convert_general(far, format("CSF", 5)), five);
  CHECK_THROWS(static_cast<void>(to_dense(far)));
}

TEST_CASE("structured refuses what does not fit, and says which group") {
  const Tensor t = coo_of({{{1, 0}, 1.0}, {{1, 1}, 1.0}, {{1, 3}, 1.0}}, {2, 4}, format("COO"));
  try {
    convert_general(t, format("(i, j) -> (i : dense, j / 4 : dense, j % 4 : structured(2))"));
    FAIL("no error");
  } catch (const TensorError& e) {
    CHECK_MESSAGE(std::string(e.what()).find("level 2 (structured): too many elements in group 1") != std::string::npos,
                  e.what());
  }
  // Pads take the lowest unused coordinates.
  const Tensor s = coo_of({{{0, 3}, 5.0}, {{1, 0}, 6.0}}, {3, 4},
                          format("(i, j) -> (i : dense, j / 4 : dense, j % 4 : structured(2))"));
  const Buffer crd = s.crd(2);
  const std::int64_t expected[] = {0, 3, 0, 1, 0, 1};
  for (int k = 0; k < 6; ++k) CHECK(crd.index(k) == expected[k]);
}

TEST_CASE("the blog's delta figure") {
  const Tensor t = coo_of({{{0, 0}, 1.0}, {{0, 7}, 2.0}, {{1, 2}, 3.0}, {{1, 3}, 4.0}, {{2, 7}, 5.0}}, {3, 8},
                          format("(i, j) -> (i : dense, j : delta(2))"));
  const std::int64_t pos[] = {0, 3, 5, 7}, crd[] = {0, 3, 2, 2, 0, 3, 3};
  const double values[] = {1, 0, 2, 3, 4, 0, 5};
  for (int k = 0; k < 4; ++k) CHECK(t.pos(1).index(k) == pos[k]);
  for (int k = 0; k < 7; ++k) CHECK(t.crd(1).index(k) == crd[k]);
  for (int k = 0; k < 7; ++k) CHECK(t.values().as<double>()[static_cast<std::size_t>(k)] == values[k]);
}

TEST_CASE("padded takes the longest row and keeps it in the type") {
  const Tensor t =
      coo_of({{{0, 0}, 1.0}, {{1, 1}, 2.0}, {{1, 2}, 3.0}}, {3, 3}, format("(i, j) -> (i : dense, j : padded)"));
  CHECK(t.format().level(1).arg == 2);
  CHECK(t.values().size == 6);
  CHECK_THROWS_AS(convert_general(t, format("(i, j) -> (i : dense, j : padded(1))")), TensorError);
  CHECK(convert_general(t, format("(i, j) -> (i : dense, j : padded(5))")).values().size == 15);
}

TEST_CASE("batches of different fullness") {
  std::mt19937 random(5);
  for (const char* f :
       {"(b, i, j) -> (b : batch, i : dense, j : compressed)", "(b, i, j) -> (b : batch, i : dense, j : delta(2))",
        "(b, i, j) -> (b : batch, i : compressed, j : compressed)", "(b, i, j) -> (b : batch, i : dense, j : padded)",
        "(b, i, j) -> (b : batch, i : dense, j : bitmap)",
        "(b, i, j) -> (b : batch, i : dense, j / 2 : dense, j % 2 : structured(2))",
        "(b, i, j) -> (b : batch, i : batch, j : compressed)", "(b, i, j) -> (b : batch, i : dense, j : dense)",
        "(b, i, j) -> (b : batch, j - i : compressed, i : range)"})
    for (std::int64_t count : {0, 1, 3}) {
      CAPTURE(f);
      const Shape shape = {count, 4, 5};
      Elements elements = random_elements(random, shape, 0.3, false);
      std::erase_if(elements, [](const auto& e) { return e.first[0] == 1; });  // an empty batch
      const Tensor t = coo_of(elements, shape, parse_format(f));
      check_holds(t, elements);
      check_holds(convert_general(t, format("COO", 3)), elements);
    }
}

TEST_CASE("splits of a sum") {
  std::mt19937 random(6);
  const Shape shape = {8, 8};
  const Elements elements = random_elements(random, shape, 0.4, false);
  const Tensor t = coo_of(elements, shape, format("CSR"));
  const auto part_has = [&](const char* f, const Split& split, auto&& first) {
    const Tensor s = convert_general(t, format(f), {.split = split});
    check_holds(s, elements);
    const Elements head = stored(s.part_tensor(0));
    for (const auto& [c, x] : elements) {
      const auto at = head.find(c);
      CHECK((at != head.end() && at->second == x) == first(c));
    }
  };
  part_has("CSR + COO", {.kind = Split::band, .lo = -1, .hi = 1},
           [](const Coordinates& c) { return std::abs(c[1] - c[0]) <= 1; });
  part_has("CSR + COO", {.kind = Split::rows, .k = 2}, [&](const Coordinates& c) {
    int before = 0;
    for (const auto& [e, x] : elements) before += e[0] == c[0] && e[1] < c[1];
    return before < 2;
  });
  part_has("BSR(2, 2) + COO", {.kind = Split::blocks, .fill = 0.75}, [&](const Coordinates& c) {
    int inside = 0;
    for (const auto& [e, x] : elements) inside += e[0] / 2 == c[0] / 2 && e[1] / 2 == c[1] / 2;
    return inside >= 3;
  });
  // By default a block pays where its coordinate and four values take no more bytes than its elements in COO: 4 + 32
  // against 16 each.
  part_has("BSR(2, 2) + COO", {}, [&](const Coordinates& c) {
    int inside = 0;
    for (const auto& [e, x] : elements) inside += e[0] / 2 == c[0] / 2 && e[1] / 2 == c[1] / 2;
    return inside * 16 >= 36;
  });
  part_has("DIAJ + COO", {}, [&](const Coordinates& c) {
    int inside = 0;
    for (const auto& [e, x] : elements) inside += e[1] - e[0] == c[1] - c[0];
    return inside * 16 >= 4 + 8 * 8;
  });
  const Tensor mask = coo_of({{elements.begin()->first, 1.0}}, shape, format("COO"));
  part_has("CSR + COO", {.kind = Split::mask, .pattern = mask},
           [&](const Coordinates& c) { return c == elements.begin()->first; });
  const Tensor n_of_m = convert_general(t, format("(i, j) -> (i : dense, j / 4 : dense, j % 4 : structured(2)) + COO"));
  check_holds(n_of_m, elements);
  check_holds(convert_general(n_of_m, format("CSC")), elements);
  const Tensor ell = convert_general(t, format("(i, j) -> (i : dense, j : padded(2)) + COO"));
  check_holds(ell, elements);
  CHECK_THROWS_AS(convert_general(t, format("CSR + COO"), {.split = {.kind = Split::mask}}), TensorError);
}

TEST_CASE("strided, shared and scalar sources") {
  const std::vector<double> v = {1, 0, 2, 3, 0, 4};
  const std::int64_t back[] = {-3, -1};
  const Tensor t = borrow_dense(array(v), {2, 3}, back, 5);
  check_holds(convert_general(t, format("CSR")), {{{0, 0}, 4}, {{0, 2}, 3}, {{1, 0}, 2}, {{1, 2}, 1}});
  RawArrays a;
  a.pos[1] = array<std::int64_t>({0, 1, 2});
  a.crd[1] = array<std::int64_t>({1, 0});
  a.values = array<double>({5});
  a.value_stride = 0;
  check_holds(convert_general(make_tensor(format("CSR"), {2, 2}, a), format("CSC")), {{{0, 1}, 5}, {{1, 0}, 5}});
  CHECK(convert_general(Tensor(), Format()).get({})->to_double() == 0);
  const Tensor scalar = from_coo({}, array<double>({1, 2}), {}, Format());
  CHECK(scalar.get({})->to_double() == 3);
}

TEST_CASE("coordinates out of range, lists of unequal length") {
  const Buffer bad[] = {array<std::int64_t>({0, 3}), array<std::int64_t>({0, 0})};
  CHECK_THROWS_AS(from_coo(bad, array<double>({1, 2}), {3, 3}, format("CSR")), IndexError);
  CHECK_THROWS_AS(from_coo(bad, array<double>({1}), {4, 3}, format("CSR")), TensorError);
  const Buffer floats[] = {array<double>({0, 3}), array<double>({0, 0})};
  CHECK_THROWS_AS(from_coo(floats, array<double>({1, 2}), {4, 3}, format("CSR")), DTypeError);
  CHECK_THROWS_AS(convert(Tensor(), format("CSR")), TensorError);
}
