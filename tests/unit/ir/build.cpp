// Constructors fold what is known and refuse what has no meaning; the printer tells everything.
#include <doctest/doctest.h>

#include <cmath>
#include <functional>

#include "ir/ir.h"
#include "strata/error.h"

using namespace strata;
using namespace strata::ir;

namespace {

const Expr i = var("i"), j = var("j");
Expr real(double v) { return constant(Scalar::of(v)); }
std::string text(const Expr& e) { return to_string(e); }

std::string refusal(const std::function<void()>& f) {
  try {
    f();
  } catch (const InternalError& e) { return e.what(); }
  return "";
}

}  // namespace

TEST_CASE("integers fold and lose their identities") {
  CHECK(text(i + 0) == "i");
  CHECK(text(int_const(0) + i) == "i");
  CHECK(text(i * 1) == "i");
  CHECK(text(int_const(1) * i) == "i");
  CHECK(text(i * 0) == "0");
  CHECK(text(i - i) == "0");
  CHECK(text(i + 2 + 3) == "i + 5");
  CHECK(text(i + 2 - 2) == "i");
  CHECK(text(i * 2 * 3) == "i * 6");
  CHECK(text(int_const(2) + i) == "i + 2");
  CHECK(text(floor_div(i, 1)) == "i");
  CHECK(text(floor_mod(i, 1)) == "0");
  CHECK(text(floor_div(int_const(-7), 2)) == "-4");
  CHECK(text(floor_mod(int_const(-7), 4)) == "1");
  CHECK(text(floor_div(int_const(-7), 0)) == "0");
  CHECK(text(floor_mod(int_const(-7), 0)) == "0");
  CHECK(text(int_const(INT64_MAX) + 1) == std::to_string(INT64_MIN));
  CHECK(text(floor_div(int_const(INT64_MIN), -1)) == std::to_string(INT64_MIN));
  CHECK(text(cast(DType::i8, int_const(200))) == "-56_i8");
  CHECK(text(min(i, i)) == "i");
  CHECK(text(lt(i, i)) == "false");
  CHECK(text(select(eq(i, i), j, i)) == "j");
  CHECK(text(fma(i, int_const(1), j)) == "i + j");
  CHECK(text(broadcast(int_const(3), 4)) == "3_i64x4");
  CHECK(text(lane(broadcast(i, 4), 2)) == "i");
  const Expr one = broadcast(i, 4), other = broadcast(j, 4);
  CHECK(text(blend(one, other, 0)) == text(other));
  CHECK(text(blend(one, other, 4)) == text(one));
  CHECK(text(blend(one, other, 3)) == "blend_3(broadcast4(i), broadcast4(j))");
  CHECK(text(unary(Op::count_trailing_zeros, int_const(0))) == "64");
  CHECK(is_constant(cast(DType::u8, int_const(7)), 7));
  CHECK_FALSE(is_constant(i, 0));
}

TEST_CASE("floats keep what IEEE distinguishes") {
  const Expr x = var("x", {DType::f64});
  CHECK(text(x + real(0)) == "x + 0.0");  // -0.0 + 0.0 is 0.0
  CHECK(text(x * real(0)) == "x * 0.0");  // NaN
  CHECK(text(real(0.1) + real(0.2)) == "0.30000000000000004");
  CHECK(text(cast(DType::i64, real(1e300))) == std::to_string(INT64_MAX));
  CHECK(text(cast(DType::u8, real(-3))) == "0_u8");
  CHECK(text(cast(DType::i32, constant(Scalar::of(std::nan(""))))) == "0_i32");
  CHECK(text(constant(Scalar::of(0.1f))) == "0.1_f32");
  CHECK(text(real(-0.0)) == "-0.0");
  CHECK(text(unary(Op::exp, real(1))) == "exp(1.0)");  // library functions belong to the engine
  CHECK(text(constant(Scalar::of(std::nan("")))) != text(constant(Scalar::of(std::nan("7")))));
}

TEST_CASE("booleans short-circuit") {
  const Expr a = lt(i, j), b = eq(i, j);
  CHECK(text(logical_and(a, b)) == "i < j && i == j");
  CHECK(text(logical_or(logical_and(a, b), b)) == "(i < j && i == j) || i == j");
  CHECK(text(logical_and(logical_or(a, b), b)) == "(i < j || i == j) && i == j");
  CHECK(text(logical_and(bool_const(true), b)) == "i == j");
  CHECK(text(logical_and(b, bool_const(false))) == "false");
  CHECK(text(logical_or(b, bool_const(false))) == "i == j");
  CHECK(text(logical_not(logical_not(a))) == "i < j");
  CHECK(text(binary(Op::bit_and, a, bool_const(true))) == "i < j");
}

TEST_CASE("parentheses tell the tree") {
  CHECK(text(i - (j - i)) == "i - (j - i)");
  CHECK(text((i - j) - i) == "i - j - i");
  CHECK(text((i + j) * i) == "(i + j) * i");
  CHECK(text(floor_div(i * j, 8) + i) == "((i * j) // 8) + i");
  CHECK(text(binary(Op::bit_and, binary(Op::shift_right, i, j), i)) == "(i >> j) & i");
  CHECK(text(unary(Op::neg, i + j)) == "-(i + j)");
  CHECK(text(i - (i + j)) == "i - (i + j)");
}

TEST_CASE("ill-typed expressions are refused") {
  const Expr x = var("x", {DType::f64}), v = var("v", {DType::i64, 4});
  CHECK(refusal([&] { binary(Op::add, i, x); }) == "ir: add of i64 and f64");
  CHECK(refusal([&] { binary(Op::add, i, v); }) == "ir: add of i64 and i64x4");
  CHECK(refusal([&] { binary(Op::div, i, i); }) == "ir: div of i64 and i64");
  CHECK(refusal([&] { binary(Op::bit_and, x, x); }) == "ir: bit_and of f64 and f64");
  CHECK(refusal([&] { binary(Op::add, bool_const(true), lt(i, j)); }) == "ir: add of bool and bool");
  CHECK(refusal([&] { binary(Op::neg, i, i); }) == "ir: neg is not binary");
  CHECK(refusal([&] { unary(Op::sqrt, i); }) == "ir: sqrt of i64");
  CHECK(refusal([&] { unary(Op::add, i); }) == "ir: add is not unary");
  CHECK(refusal([&] { select(i, i, i); }) == "ir: select of i64 and i64 and i64");
  CHECK(refusal([&] { fma(x, x, i); }) == "ir: fma of f64 and f64 and i64");
  CHECK(refusal([&] { broadcast(v, 8); }) == "ir: broadcast to 8 lanes of i64x4");
  CHECK(refusal([&] { blend(v, v, 5); }) == "ir: blend at 5 of i64x4 and i64x4");
  CHECK(refusal([&] { broadcast(i, 3); }) == "ir: 3 lanes (1, 2, 4, 8, 16, 32 or 64)");
  CHECK(refusal([&] { lane(v, 4); }) == "ir: lane 4 of i64x4");
  CHECK(refusal([&] { reduce_lanes(Op::sub, v); }) == "ir: reduce_lanes by sub of i64x4");
  CHECK(refusal([&] { reduce_lanes(Op::add, std::vector<Expr>{v, v, v}); }) == "ir: reduce_lanes by add of 3 of i64x4");
  CHECK(refusal([&] { reduce_lanes(Op::add, std::vector<Expr>{i, i}); }) == "ir: reduce_lanes by add of 2 of i64");
  CHECK(refusal([&] { load({"a"}, 0, x); }) == "ir: load at an index of f64");
  CHECK(refusal([&] { load({"a", DType::c64}, 0, i); }).find("complex") != std::string::npos);
  CHECK(refusal([&] { var("h", {DType::f16}); }) == "ir: nothing is computed in float16");
  CHECK(refusal([&] { constant(Scalar::zero(DType::c128)); }) == "ir: nothing is computed in complex128");
}

TEST_CASE("ill-typed statements are refused") {
  const BufferParam in{"in"}, out{"out", DType::f16, 0, true}, bits{"bits", DType::u64, 4, true};
  const Expr x = var("x", {DType::f64}), h = var("h", {DType::f32});
  CHECK(refusal([&] { store(in, 0, i, x); }).find("not declared as written") != std::string::npos);
  CHECK(refusal([&] { store(out, 0, i, x); }) == "ir: a store to out takes float32, got f64 x");
  CHECK(refusal([&] { store(bits, 0, i, i); }).find("use store_or") != std::string::npos);
  CHECK(refusal([&] { store(out, 0, x, h); }).find("must be i64") != std::string::npos);
  CHECK(refusal([&] { while_loop(i, block({})); }).find("must be boolean") != std::string::npos);
  CHECK(refusal([&] { loop("k", i, j, block({}), 0); }) == "ir: loop k by 0");
  CHECK(refusal([&] { loop("k", i, j, block({}), 1, LoopKind::unrolled); }) == "ir: unrolled loop k from i to j");
  CHECK(refusal([&] { fail(0); }) == "ir: fail with status 0");
}

TEST_CASE("blocks flatten and constant branches go") {
  const Stmt s = block({nullptr, block({let("a", i), block({let("b", j)})}), branch(bool_const(false), let("c", i)),
                        branch(bool_const(true), let("d", i))});
  REQUIRE(s->body.size() == 3);
  CHECK(s->body[2]->name == "d");
}
