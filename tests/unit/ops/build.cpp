// Builder and Assembly against from_coo, which other tests compare with lists.
#include <doctest/doctest.h>

#include <cmath>
#include <random>
#include <thread>

#include "backend/pool.h"
#include "strata/build.h"
#include "strata/ops.h"

using namespace strata;

namespace {

template <class T> Buffer array(const std::vector<T>& v) { return Buffer::copy_of(std::span<const T>(v)); }

struct Triplets {
  std::vector<Buffer> coords;
  Buffer values;
};

/// Many duplicates; numbers whose sums depend on their order.
Triplets random_triplets(std::uint32_t seed, const Shape& shape, std::int64_t n) {
  std::mt19937 random(seed);
  Triplets t;
  for (const auto extent : shape) {
    std::vector<std::int64_t> list;
    for (std::int64_t k = 0; k < n; ++k)
      list.push_back(static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(extent)));
    t.coords.push_back(array(list));
  }
  std::vector<double> values;
  for (std::int64_t k = 0; k < n; ++k)
    values.push_back((random() % 1000 - 500.0) * std::pow(10.0, static_cast<double>(random() % 12)) / 7);
  t.values = array(values);
  return t;
}

/// Elements [begin, end) of a list.
template <class T> Buffer part_of(const Buffer& list, std::int64_t begin, std::int64_t end) {
  return Buffer::copy_of(
      std::span<const T>(list.as<T>()).subspan(static_cast<std::size_t>(begin), static_cast<std::size_t>(end - begin)));
}

Triplets part_of(const Triplets& t, std::int64_t begin, std::int64_t end) {
  Triplets out;
  for (const Buffer& c : t.coords) out.coords.push_back(part_of<std::int64_t>(c, begin, end));
  out.values = part_of<double>(t.values, begin, end);
  return out;
}

std::string message(const auto& f) {
  try {
    f();
  } catch (const Error& e) { return e.what(); }
  return "";
}

}  // namespace

TEST_CASE("an assembly gives what from_coo gives, to the bit, in any format") {
  const Shape shape = {12, 18};
  for (const std::int64_t n : {0, 1, 40, 3000, 50000})
    for (const char* text :
         {"CSR", "CSC", "COO", "BSR(2, 3)", "BSR(5, 5)", "DIA", "dense", "delta(2)", "ELL", "DCSR", "BSR(2, 2) + COO",
          "(i, j) -> (i: dense, j: bitmap)", "(i, j) -> (j: compressed, i: compressed)",
          "(i, j) -> (i: dense, j / 3: dense, j % 3: structured(3))", "(i, j) -> (i: batch, j: compressed)"}) {
      CAPTURE(text);
      CAPTURE(n);
      const Triplets t = random_triplets(static_cast<std::uint32_t>(n), shape, n);
      const Format format = parse_format(text, 2);
      const Assembly assembly(t.coords, shape, format);
      CHECK(assembly.size() == n);
      const Tensor expected = from_coo(t.coords, t.values, shape, format), got = assembly.assemble(t.values);
      CHECK_NOTHROW(got.validate());
      CHECK(got.type() == expected.type());
      CHECK(same_storage(got, expected));
      CHECK(assembly.nse() == expected.nse());
      const Scalar one = Scalar::of(1.0);
      CHECK(same_storage(assembly.assemble(t.values, one), from_coo(t.coords, t.values, shape, format, {}, one)));
      for (const DType dtype : {DType::f32, DType::bf16, DType::i8, DType::boolean, DType::c128}) {
        const Buffer other = t.values.cast(dtype);
        const Tensor filled = assembly(other), made = from_coo(t.coords, other, shape, format);
        // The parts of a sum are found for float64.
        CHECK((format.num_parts() > 1 ? equal(filled, made) : same_storage(filled, made)));
      }
    }
}

TEST_CASE("other ranks") {
  for (const Shape& shape : {Shape{}, Shape{30}, Shape{4, 5, 6}, Shape{1 << 30, 1 << 30, 1 << 30}}) {
    const std::int64_t n = shape.empty() ? 1 : 2000;
    const Triplets t = random_triplets(3, shape, n);
    const Format format = shape.empty() ? Format() : parse_format("COO", static_cast<int>(shape.size()));
    CHECK(same_storage(Assembly(t.coords, shape, format)(t.values), from_coo(t.coords, t.values, shape, format)));
  }
}

TEST_CASE("tensors of an assembly share its pattern, and threads change no bit") {
  const Triplets t = random_triplets(1, {200, 200}, 300000);
  const Assembly assembly(t.coords, {200, 200}, parse_format("CSR"), {.dtype = DType::f32});
  const Tensor a = assembly(t.values), b = assembly(t.values);
  CHECK(a.dtype() == DType::f32);
  CHECK(a.part().levels[1].crd.data == b.part().levels[1].crd.data);
  CHECK(a.part().values.data != b.part().values.data);
  for (const int threads : {1, 2, 5}) {
    set_thread_count(threads);
    CHECK(same_storage(assembly(t.values), a));
  }
  set_thread_count(0);
}

TEST_CASE("what an assembly refuses") {
  const Triplets t = random_triplets(1, {3, 3}, 5);
  const Format csr = parse_format("CSR");
  CHECK(message([&] { Assembly(t.coords, {3, 3}, csr).assemble(array<double>({1, 2})); }) ==
        "the values do not fit the pattern\n  expected  5 of them, one for each coordinate\n  got       2");
  CHECK(message([&] { Assembly(t.coords, {3, 3}, csr, {.zeros = Zeros::drop}); }).find("drop_zeros()") !=
        std::string::npos);
  CHECK_THROWS_AS(Assembly(t.coords, {2, 2}, csr), IndexError);
  CHECK_THROWS_AS(Assembly(t.coords, {3, 3, 3}, parse_format("COO", 3)), TensorError);
}

TEST_CASE("a builder gives what from_coo gives") {
  const Shape shape = {50, 40};
  const Triplets t = random_triplets(4, shape, 20000);
  const Tensor expected = from_coo(t.coords, t.values, shape, parse_format("CSR"));
  for (const std::int64_t step : {1, 7, 5000, 20000}) {
    Builder b(shape);
    for (std::int64_t k = 0; k < 20000; k += step) {
      const Triplets part = part_of(t, k, std::min<std::int64_t>(k + step, 20000));
      b.add(part.coords, part.values);
    }
    CHECK(b.size() == 20000);
    CHECK(same_storage(b.build(parse_format("CSR")), expected));
  }
}

TEST_CASE("an order of one's own makes sums repeatable, whichever thread comes first") {
  const Shape shape = {50, 40};
  const Triplets t = random_triplets(4, shape, 60000);
  const Tensor expected = from_coo(t.coords, t.values, shape, parse_format("BSR(2, 2)"));
  for (const std::int64_t step : {100, 6000}) {
    Builder b(shape);
    std::vector<std::thread> threads;
    for (int thread = 3; thread >= 0; --thread)
      threads.emplace_back([&, thread] {
        for (std::int64_t k = thread; k * step < 60000; k += 4) {
          const Triplets part = part_of(t, k * step, std::min<std::int64_t>((k + 1) * step, 60000));
          b.add(part.coords, part.values, k);
        }
      });
    for (auto& thread : threads) thread.join();
    CHECK(same_storage(b.build(parse_format("BSR(2, 2)")), expected));
  }
}

TEST_CASE("a builder goes on after build, casts, and refuses") {
  Builder b({3, 4}, DType::f32);
  const std::vector<Buffer> at = {array<std::uint8_t>({1, 2}), array<std::int64_t>({0, 3})};
  b.add(at, array<std::int32_t>({5, 6}));
  CHECK(b.build(parse_format("CSR")).nse() == 2);
  b.add(at, array<double>({1, 2}));
  const Tensor t = b.build(parse_format("COO", 2), {}, Scalar::of(9.0f));
  CHECK(t.get(std::vector<std::int64_t>{2, 3})->to_double() == 8);
  CHECK(t.fill().to_double() == 9);
  CHECK(message([&] { b.add(at, array<std::complex<double>>({1, 2})); }) ==
        "the values are not of a kind that the builder holds\n  expected  float32, or what casts to it\n  got       "
        "complex128\n  fix       make the builder with dtype complex128");
  const std::vector<Buffer> outside = {array<std::int64_t>({0, 3}), array<std::int64_t>({0, 0})};
  CHECK_THROWS_AS(b.add(outside, array<double>({1, 2})), IndexError);
  CHECK_THROWS_AS(b.add(at, array<double>({1})), TensorError);
  CHECK_THROWS_AS(Builder({-1, 2}), TensorError);
  CHECK(b.size() == 4);
  b.clear();
  CHECK(b.build(parse_format("CSR")).nse() == 0);
}

TEST_CASE("from_coo with a fill") {
  const std::vector<Buffer> at = {array<std::int64_t>({0, 0}), array<std::int64_t>({1, 1})};
  for (const char* text : {"CSR", "dense", "BSR(2, 2)", "DIA", "(i, j) -> (i: dense, j: delta(2))"}) {
    const Tensor t = from_coo(at, array<double>({1, 2}), {2, 3}, parse_format(text), {}, Scalar::of(7.0));
    CHECK_NOTHROW(t.validate());
    const Tensor dense = to_dense(t);
    const auto all = dense.values().as<double>();
    CHECK(std::vector<double>(all.begin(), all.end()) == std::vector<double>{7, 3, 7, 7, 7, 7});
  }
}
