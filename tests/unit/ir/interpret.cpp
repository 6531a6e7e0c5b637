// The interpreter's arithmetic against values known from elsewhere (Python's // and %, NumPy's astype, IEEE 754).
#include "ir/interpret.h"

#include <doctest/doctest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <vector>

using namespace strata;
using namespace strata::ir;

namespace {

/// f applied to run-time values: nothing can fold.
template <class R, class T> R evaluate(const std::function<Expr(Expr, Expr)>& f, T a, T b = {}) {
  const DType t = dtype_of<T>();
  const BufferParam in{"in", t}, out{"out", dtype_of<R>(), 0, true};
  Function g{"g", {in, out}, {}, store(out, 1, int_const(0), f(load(in, 0, int_const(0)), load(in, 0, int_const(1))))};
  T inputs[2] = {a, b};
  R result{};
  void* buffers[] = {inputs, &result};
  REQUIRE(interpret(g)->run({buffers, nullptr}, 0, 1, 0) == 0);
  return result;
}
template <class T> T apply(Op op, T a, T b) {
  return evaluate<T, T>([op](Expr x, Expr y) { return binary(op, x, y); }, a, b);
}
template <class R, class T> R converted(T v) {
  return evaluate<R, T>([](Expr x, Expr) { return cast(dtype_of<R>(), x); }, v);
}

}  // namespace

TEST_CASE("division floors, and gives 0 for 0") {
  const struct {
    std::int64_t a, b, quotient, remainder;
  } python[] = {{7, 2, 3, 1},
                {-7, 2, -4, 1},
                {7, -2, -4, -1},
                {-7, -2, 3, -1},
                {6, -3, -2, 0},
                {-6, 3, -2, 0},
                {0, 5, 0, 0},
                {5, 0, 0, 0},
                {-5, 0, 0, 0},
                {INT64_MIN, 1, INT64_MIN, 0},
                {INT64_MIN, 2, INT64_MIN / 2, 0},
                {INT64_MAX, -1, -INT64_MAX, 0}};
  for (const auto& [a, b, q, r] : python) {
    CHECK(apply(Op::floor_div, a, b) == q);
    CHECK(apply(Op::floor_mod, a, b) == r);
  }
  CHECK(apply<std::int64_t>(Op::floor_div, INT64_MIN, -1) == INT64_MIN);  // wraps
  CHECK(apply<std::int64_t>(Op::floor_mod, INT64_MIN, -1) == 0);
  CHECK(apply<std::int8_t>(Op::floor_div, -128, -1) == -128);
  CHECK(apply<std::uint8_t>(Op::floor_div, 200, 7) == 28);
  CHECK(apply<std::uint8_t>(Op::floor_mod, 200, 0) == 0);
  CHECK(apply(Op::floor_div, -7.5, 2.0) == -4);
  CHECK(apply(Op::floor_mod, -7.5, 2.0) == 0.5);
  CHECK(apply(Op::floor_div, 1.0, 0.1) == 9);  // 0.1 is a little more
  CHECK(apply(Op::floor_div, -1.0, 0.0) == -INFINITY);
  CHECK(std::isnan(apply(Op::floor_mod, 1.0, 0.0)));
  CHECK(std::signbit(apply(Op::floor_mod, 6.0, -3.0)));
}

TEST_CASE("integers wrap, shifts count modulo the width") {
  CHECK(apply<std::int8_t>(Op::add, 127, 1) == -128);
  CHECK(apply<std::int16_t>(Op::mul, 300, 300) == 24464);
  CHECK(apply<std::uint16_t>(Op::mul, 65535, 65535) == 1);
  CHECK(apply<std::uint32_t>(Op::sub, 0, 1) == UINT32_MAX);
  CHECK(apply<std::int64_t>(Op::mul, INT64_MAX, 2) == -2);
  CHECK(apply<std::int32_t>(Op::shift_right, -1, 28) == 15);
  CHECK(apply<std::int8_t>(Op::shift_right, -1, 1) == 127);
  CHECK(apply<std::int32_t>(Op::shift_left, 1, 33) == 2);
  CHECK(apply<std::uint64_t>(Op::shift_left, 1, 63) == std::uint64_t{1} << 63);
  CHECK(apply<std::uint8_t>(Op::shift_left, 255, 9) == 254);
}

TEST_CASE("min and max are comparisons") {
  const double nan = std::nan("");
  CHECK(std::isnan(apply(Op::min, 1.0, nan)));  // 1 < nan is false: the second
  CHECK(apply(Op::min, nan, 1.0) == 1.0);
  CHECK(std::isnan(apply(Op::max, 1.0, nan)));
  CHECK(apply(Op::max, nan, 1.0) == 1.0);
  CHECK(std::signbit(apply(Op::min, 0.0, -0.0)));
  CHECK_FALSE(std::signbit(apply(Op::min, -0.0, 0.0)));
  CHECK(std::signbit(apply(Op::max, 0.0, -0.0)));
}

TEST_CASE("casts") {
  const double inf = std::numeric_limits<double>::infinity();
  CHECK(converted<std::int32_t>(3e9) == INT32_MAX);
  CHECK(converted<std::int32_t>(-3e9) == INT32_MIN);
  CHECK(converted<std::int32_t>(std::nan("")) == 0);
  CHECK(converted<std::int64_t>(inf) == INT64_MAX);
  CHECK(converted<std::int64_t>(-inf) == INT64_MIN);
  CHECK(converted<std::uint64_t>(1.8446744073709552e19) == UINT64_MAX);
  CHECK(converted<std::uint64_t>(-0.9) == 0);
  CHECK(converted<std::uint8_t>(255.9f) == 255);
  CHECK(converted<std::int8_t>(-128.9f) == -128);
  CHECK(converted<std::int8_t>(1.99) == 1);
  CHECK(converted<std::int8_t>(std::int32_t{300}) == 44);
  CHECK(converted<std::uint16_t>(std::int64_t{-1}) == 65535);
  CHECK(converted<double>(std::uint64_t{UINT64_MAX}) == 18446744073709551616.0);
  CHECK(converted<float>(std::int64_t{16777217}) == 16777216.0f);
  CHECK(converted<float>(1e300) == std::numeric_limits<float>::infinity());
  CHECK(converted<bool>(std::nan("")));
  CHECK_FALSE(converted<bool>(-0.0));
  CHECK(converted<double>(true) == 1.0);
}

TEST_CASE("casts agree with Scalar::as everywhere") {
  const double values[] = {
      0,        -0.0,     0.5,     -0.5,   1,       -1,           127,          128,           -128,
      -129,     255,      256,     32768,  65535.5, 2147483647.0, 2147483648.0, -2147483649.0, 4294967295.0,
      9.2e18,   9.3e18,   -9.3e18, 1.8e19, 1.9e19,  1e300,        -1e300,       1e-300,        std::nan(""),
      INFINITY, -INFINITY};
  for (double v : values) {
    CHECK(converted<std::int8_t>(v) == static_cast<std::int8_t>(Scalar::of(v).as(DType::i8).to_int64()));
    CHECK(converted<std::int32_t>(v) == Scalar::of(v).as(DType::i32).to_int64());
    CHECK(converted<std::int64_t>(v) == Scalar::of(v).as(DType::i64).to_int64());
    CHECK(converted<std::uint16_t>(v) == Scalar::of(v).as(DType::u16).to_int64());
    CHECK(Scalar::of(converted<std::uint64_t>(v)).same_bits(Scalar::of(v).as(DType::u64)));
    CHECK(converted<bool>(v) == (Scalar::of(v).as(DType::boolean).bits[0] != 0));
  }
  for (std::int64_t v : {INT64_MIN, std::int64_t{-300}, std::int64_t{-1}, std::int64_t{16777217},
                         std::int64_t{9007199254740993}, INT64_MAX}) {
    CHECK(Scalar::of(converted<float>(v)).same_bits(Scalar::of(v).as(DType::f32)));
    CHECK(Scalar::of(converted<double>(v)).same_bits(Scalar::of(v).as(DType::f64)));
    CHECK(Scalar::of(converted<std::uint8_t>(v)).same_bits(Scalar::of(v).as(DType::u8)));
  }
}

TEST_CASE("counts of bits") {
  const auto count = [](Op op, std::uint64_t v) {
    return evaluate<std::int64_t, std::uint64_t>([op](Expr x, Expr) { return unary(op, x); }, v);
  };
  CHECK(count(Op::popcount, 0xF0F) == 8);
  CHECK(count(Op::popcount, ~std::uint64_t{0}) == 64);
  CHECK(count(Op::count_trailing_zeros, 0) == 64);
  CHECK(count(Op::count_trailing_zeros, std::uint64_t{1} << 63) == 63);
}

TEST_CASE("fma rounds once") {
  const double x = 1 + std::ldexp(1.0, -30);
  const double y =
      evaluate<double, double>([](Expr a, Expr b) { return fma(a, a, b); }, x, -(1 + std::ldexp(1.0, -29)));
  CHECK(y == std::ldexp(1.0, -60));
}

TEST_CASE("a lane reduction is a tree of halves") {
  // With doubles of very different size the order of additions shows.
  const BufferParam in{"in"}, out{"out", DType::f64, 0, true};
  Function f{"f", {in, out}, {}, store(out, 1, int_const(0), reduce_lanes(Op::add, load(in, 0, int_const(0), 4)))};
  double v[4] = {1e16, 1, -1e16, 1}, y = 0;
  void* buffers[] = {v, &y};
  CHECK(interpret(f)->run({buffers, nullptr}, 0, 1, 0) == 0);
  CHECK(y == (1e16 + -1e16) + (1.0 + 1.0));
}

TEST_CASE("several lane reductions at once are the same trees") {
  const BufferParam in{"in"}, out{"out", DType::f64, 0, true};
  for (int n : {2, 4, 8}) {
    std::vector<Expr> each;
    for (int k = 0; k < n; ++k) each.push_back(load(in, 0, int_const(k), 8));
    Function several{"f", {in, out}, {}, store(out, 1, int_const(0), reduce_lanes(Op::add, each))};
    std::vector<double> v(16), together(8), alone(8);
    for (std::size_t k = 0; k < v.size(); ++k) v[k] = std::ldexp(k % 3 ? 1.0 : -1.0, static_cast<int>(k * 7 % 60));
    void* buffers[] = {v.data(), together.data()};
    CHECK(interpret(several)->run({buffers, nullptr}, 0, 1, 0) == 0);
    for (int k = 0; k < n; ++k) {
      Function one{
          "f", {in, out}, {}, store(out, 1, int_const(k), reduce_lanes(Op::add, each[static_cast<std::size_t>(k)]))};
      void* buffers_of_one[] = {v.data(), alone.data()};
      CHECK(interpret(one)->run({buffers_of_one, nullptr}, 0, 1, 0) == 0);
    }
    CHECK(together == alone);
  }
}

TEST_CASE("one kernel serves many threads' frames, large ones too") {
  // 64 lanes times a dozen variables exceed the frame on the stack.
  const BufferParam in{"in"}, out{"out", DType::f64, 0, true};
  std::vector<Stmt> body;
  Expr sum = constant(Scalar::of(0.0), 64);
  for (int k = 0; k < 12; ++k) {
    const std::string name = "v" + std::to_string(k);
    body.push_back(let(name, load(in, 0, int_const(k), 64)));
    sum = sum + var(name, {DType::f64, 64});
  }
  body.push_back(store(out, 1, int_const(0), reduce_lanes(Op::add, sum)));
  Function f{"f", {in, out}, {}, block(std::move(body))};
  std::vector<double> v(80);
  double expected = 0, y = 0;
  for (std::size_t k = 0; k < v.size(); ++k) v[k] = static_cast<double>(k);
  for (std::size_t k = 0; k < 12; ++k)
    for (std::size_t l = 0; l < 64; ++l) expected += v[k + l];
  void* buffers[] = {v.data(), &y};
  CHECK(interpret(f)->run({buffers, nullptr}, 0, 1, 0) == 0);
  CHECK(y == expected);
}
