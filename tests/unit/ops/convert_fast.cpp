// Every shortcut of conversion against the general path: the same structure, bits and types, for any number of threads.
#include <doctest/doctest.h>

#include <random>

#include "backend/pool.h"
#include "convert/fast/fast.h"
#include "strata/ops.h"
#include "strata/settings.h"

using namespace strata;

namespace {

struct Pair {
  const char *from, *to;
};
const char* const csr = "(i, j) -> (i : dense, j : compressed)";
const char* const csc = "(i, j) -> (j : dense, i : compressed)";
const char* const coo = "COO";
const char* const loose_coo = "(i, j) -> (i : compressed(nonunique, unordered), j : singleton(nonunique, unordered))";
const char* const bsr = "(i, j) -> (i / 2 : dense, j / 3 : compressed, i % 2 : dense, j % 3 : dense)";
const char* const bsr_left = "(i, j) -> (i / 3 : dense, j / 2 : compressed, j % 2 : dense, i % 3 : dense)";
const char* const diai = "(i, j) -> (j - i : compressed, i : range)";
const char* const diaj = "(i, j) -> (j - i : compressed, j : range)";
const char* const ell = "(i, j) -> (i : dense, j : padded)";
const char* const ell_left = "(i, j) -> (j : dense, i : padded)";
const char* const dcsr = "(i, j) -> (i : compressed, j : compressed)";
const char* const dcsc = "(i, j) -> (j : compressed, i : compressed)";
const char* const dense = "(i, j) -> (i : dense, j : dense)";
const char* const dense_left = "(i, j) -> (j : dense, i : dense)";

const Pair pairs[] = {
    {csr, csc},        {csc, csr},   {csr, coo},        {coo, csr},      {coo, csc},      {loose_coo, csr},
    {loose_coo, csc},  {csr, bsr},   {bsr, csr},        {csr, bsr_left}, {bsr_left, csr}, {csr, diai},
    {csr, diaj},       {diai, csr},  {diaj, csr},       {csr, ell},      {ell, csr},      {csc, ell_left},
    {ell_left, csc},   {dense, csr}, {dense_left, csr}, {dense, csc},    {csr, dense},    {csc, dense},
    {csr, dense_left}, {csr, dcsr},  {dcsr, csr},       {csc, dcsc},     {dcsc, csc},
};
/// By way of rows or columns.
const Pair two_strides[] = {
    {csc, dcsr}, {dcsr, csc},   {dcsr, dcsc},  {coo, dcsr}, {dcsr, coo}, {loose_coo, dcsr}, {bsr, dcsr},
    {dcsr, bsr}, {dense, dcsr}, {dcsr, dense}, {ell, dcsr}, {dcsr, ell}, {dcsc, diai},
};

/// A matrix in raw order: rows and columns at random, some twice, some zeros of either sign.
struct Coo {
  std::vector<std::int64_t> i, j;
  std::vector<double> v;
};
Coo random_coo(std::mt19937_64& random, std::int64_t m, std::int64_t n, std::size_t count) {
  Coo c;
  if (m == 0 || n == 0) return c;
  for (std::size_t k = 0; k < count; ++k) {
    c.i.push_back(static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(m)));
    c.j.push_back(static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(n)));
    const auto pick = random() % 8;
    c.v.push_back(pick == 0 ? 0.0 : pick == 1 ? -0.0 : static_cast<double>(1 + random() % 99));
  }
  return c;
}

/// A source in `format` with these index types. COO declared loose keeps the raw order and the duplicates.
Tensor make_source(const Coo& c, const Shape& shape, const char* format, DType dtype, DType index) {
  const Buffer i = Buffer::copy_of(std::span<const std::int64_t>(c.i)),
               j = Buffer::copy_of(std::span<const std::int64_t>(c.j));
  const Buffer v = Buffer::copy_of(std::span<const double>(c.v)).cast(dtype);
  if (format == loose_coo) {
    RawArrays a;
    a.pos[0] = Buffer::allocate(index, 2);
    a.pos[0].set_index(0, 0);
    a.pos[0].set_index(1, v.size);
    a.crd[0] = i.cast(index);
    a.crd[1] = j.cast(index);
    a.values = v;
    return make_tensor(parse_format(format), shape, a);
  }
  const Buffer coords[] = {i, j};
  ConvertOptions options;
  options.pos_dtype = options.crd_dtype = index;
  return from_coo(coords, v, shape, parse_format(format), options);
}

void check_same(const Tensor& fast, const Tensor& general) {
  CHECK_NOTHROW(fast.validate());
  CHECK(fast.type() == general.type());
  CHECK(same_storage(fast, general));
  CHECK(fast.nse() == general.nse());
}

struct Threads {
  explicit Threads(int n) { set_thread_count(n); }
  ~Threads() { set_thread_count(0); }
};

}  // namespace

TEST_CASE("shortcuts equal the general path") {
  std::mt19937_64 random(11);
  const Shape shapes[] = {{0, 0}, {0, 5}, {5, 0}, {1, 1}, {7, 7}, {6, 9}, {40, 3}, {3, 40}, {65, 66}};
  for (const Pair& p : pairs)
    for (const Shape& shape : shapes)
      for (DType index : {DType::i32, DType::i64}) {
        const auto count = static_cast<std::size_t>(random() % static_cast<std::uint64_t>(2 * shape[0] * shape[1] + 1));
        const Coo c = random_coo(random, shape[0], shape[1], count);
        const Tensor source = make_source(c, shape, p.from, DType::f64, index);
        CAPTURE(p.from);
        CAPTURE(p.to);
        CAPTURE(shape[0]);
        CAPTURE(shape[1]);
        for (Zeros zeros : {Zeros::automatic, Zeros::keep}) {
          const ConvertOptions options{.zeros = zeros};
          const Format to = parse_format(p.to);
          const auto fast = fast::convert(source, to, options);
          REQUIRE(fast);  // otherwise this compares the general path with itself
          check_same(*fast, convert_general(source, to, options));
        }
      }
}

TEST_CASE("two strides equal the general path") {
  std::mt19937_64 random(16);
  const Shape shapes[] = {{0, 0}, {0, 5}, {5, 0}, {1, 1}, {7, 7}, {40, 3}, {3, 40}, {65, 66}};
  for (const Pair& p : two_strides)
    for (const Shape& shape : shapes)
      for (Zeros zeros : {Zeros::automatic, Zeros::keep}) {
        const auto count = static_cast<std::size_t>(random() % static_cast<std::uint64_t>(2 * shape[0] * shape[1] + 1));
        const Tensor source =
            make_source(random_coo(random, shape[0], shape[1], count), shape, p.from, DType::f64, DType::i32);
        CAPTURE(p.from);
        CAPTURE(p.to);
        CAPTURE(shape[0]);
        CAPTURE(shape[1]);
        const Format to = parse_format(p.to);
        REQUIRE(fast::towards(source, to, zeros));
        check_same(convert(source, to, {.zeros = zeros}), convert_general(source, to, {.zeros = zeros}));
      }
  // Rows that are mostly empty, and would not fit: by elements.
  const Coo few = random_coo(random, 50, 50, 20);
  const Shape wide = {std::int64_t{1} << 40, std::int64_t{1} << 40};
  const Tensor source = make_source(few, wide, dcsr, DType::f64, DType::i64);
  for (const char* to : {coo, dcsc, loose_coo}) {
    CHECK_FALSE(fast::towards(source, parse_format(to), Zeros::automatic));
    const Tensor there = convert(source, parse_format(to));
    CHECK_FALSE(fast::towards(there, parse_format(dcsr), Zeros::automatic));
    check_same(convert(there, parse_format(dcsr)), convert_general(there, parse_format(dcsr)));
  }
}

TEST_CASE("shortcuts move every dtype") {
  std::mt19937_64 random(12);
  for (int d = 0; d < dtype_count; ++d) {
    const auto dtype = static_cast<DType>(d);
    for (const Pair& p : pairs) {
      const Coo c = random_coo(random, 9, 10, 60);
      const Tensor source = make_source(c, {9, 10}, p.from, dtype, DType::i32);
      CAPTURE(p.from);
      CAPTURE(p.to);
      CAPTURE(name_of(dtype));
      check_same(convert(source, parse_format(p.to)), convert_general(source, parse_format(p.to)));
    }
  }
}

TEST_CASE("shortcuts do not depend on the number of threads") {
  std::mt19937_64 random(13);
  const Shape shape = {3000, 2500};
  const Coo c = random_coo(random, shape[0], shape[1], 300000);
  Coo band = c;  // diagonals, for DIA would be too large otherwise
  for (std::size_t k = 0; k < band.i.size(); ++k)
    band.j[k] = std::min<std::int64_t>(shape[1] - 1, band.i[k] % shape[1] + band.j[k] % 20);
  for (const Pair& p : pairs) {
    const bool diagonal = p.to == diai || p.to == diaj || p.from == diai || p.from == diaj;
    const Tensor source = make_source(diagonal ? band : c, shape, p.from, DType::f64, DType::i32);
    CAPTURE(p.from);
    CAPTURE(p.to);
    const Tensor general = convert_general(source, parse_format(p.to));
    for (int threads : {1, 2, 7}) {
      const Threads set(threads);
      check_same(convert(source, parse_format(p.to)), general);
    }
  }
}

TEST_CASE("shortcuts decide index types after counting") {
  struct Limit {
    long long before = settings().int32_limit;
    ~Limit() { settings().int32_limit = before; }
  } restore;
  std::mt19937_64 random(14);
  for (int limit : {5, 10, 20, 40}) {
    for (const Pair& p : pairs) {
      const Coo c = random_coo(random, 6, 7, static_cast<std::size_t>(random() % 30));
      const Tensor source = make_source(c, {6, 7}, p.from, DType::f32, DType::i32);
      settings().int32_limit = limit;
      CAPTURE(p.from);
      CAPTURE(p.to);
      CAPTURE(limit);
      check_same(convert(source, parse_format(p.to)), convert_general(source, parse_format(p.to)));
      settings().int32_limit = restore.before;
    }
  }
}

TEST_CASE("shortcuts and a fill other than zero") {
  const std::vector<double> v = {7, 7, 0, 7, 1, 7};
  RawArrays a;
  a.values = Buffer::copy_of(std::span<const double>(v));
  const Tensor t = from_dense(make_tensor(parse_format(dense), {2, 3}, a), parse_format(csr), 0, Scalar::of(7.0));
  for (const char* to : {csc, coo, bsr, diai, dense, dense_left, csr}) {
    CAPTURE(to);
    const Tensor there = convert(t, parse_format(to));
    check_same(there, convert_general(t, parse_format(to)));
    check_same(convert(there, parse_format(csr)), convert_general(there, parse_format(csr)));
  }
}

TEST_CASE("views of dense matrices") {
  std::vector<float> v(60);
  for (std::size_t k = 0; k < v.size(); ++k) v[k] = k % 3 ? static_cast<float>(k) : 0.0f;
  const Buffer b = Buffer::copy_of(std::span<const float>(v));
  const std::int64_t step[] = {12, 2}, back[] = {-10, -1}, turned[] = {1, 10}, broadcast[] = {0, 1};
  const Tensor views[] = {borrow_dense(b, {5, 6}, step), borrow_dense(b, {6, 10}, back, 59),
                          borrow_dense(b, {10, 6}, turned), borrow_dense(b, {4, 10}, broadcast, 7)};
  for (const Tensor& view : views)
    for (const char* to : {csr, csc, coo, bsr, dense})
      check_same(convert(view, parse_format(to)), convert_general(view, parse_format(to)));
}

TEST_CASE("requests that a shortcut cannot serve") {
  std::mt19937_64 random(15);
  const Tensor t = make_source(random_coo(random, 9, 10, 60), {9, 10}, csr, DType::f64, DType::i32);
  for (DType index : {DType::i8, DType::u16, DType::i64}) {
    const ConvertOptions options{.dtype = DType::f32, .pos_dtype = index, .crd_dtype = index};
    check_same(convert(t, parse_format(csc), options), convert_general(t, parse_format(csc), options));
  }
  // The same format and types: nothing to do, and nothing dropped.
  CHECK(convert(t, parse_format(csr)).same_object(t));
  CHECK(convert(t, parse_format(csr), {.dtype = DType::f32}).dtype() == DType::f32);
}
