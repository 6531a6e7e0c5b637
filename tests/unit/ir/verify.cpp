// Each rule of the verifier, by a function that breaks only it.
#include <doctest/doctest.h>

#include "ir/ir.h"
#include "strata/error.h"

using namespace strata;
using namespace strata::ir;

namespace {

const BufferParam in{"in", DType::f32}, out{"out", DType::f32, 0, true};

std::string complaint(std::vector<Stmt> body) {
  Function f{"f", {in, out}, {"n"}, block(std::move(body))};
  try {
    verify(f);
  } catch (const InternalError& e) { return e.what(); }
  return "";
}

Function named(std::string name, std::vector<BufferParam> buffers, std::vector<std::string> scalars) {
  return {std::move(name), std::move(buffers), std::move(scalars), block({})};
}

}  // namespace

TEST_CASE("a sound function passes") {
  const Expr k = var("k"), x = var("x", {DType::f32});
  CHECK(complaint({let("a", scalar_param("n") + var("begin")), declare("k", int_const(0)), assign("k", k + 1),
                   loop("i", int_const(0), var("a"),
                        block({let("x", load(in, 0, var("i"))), let("a", k), store(out, 1, var("i"), x)})),
                   loop("i", int_const(0), k, fail(3))}) == "");
}

TEST_CASE("names") {
  CHECK(complaint({let("a", var("b"))}) == "ir: f: 'b' is not visible here, in: let a: i64 = b");
  CHECK(complaint({branch(lt(var("begin"), var("end")), let("a", int_const(1))), let("b", var("a"))}) ==
        "ir: f: 'a' is not visible here, in: let b: i64 = a");
  CHECK(complaint({let("a", int_const(1)), let("a", int_const(2))}).find("declared twice in one block") !=
        std::string::npos);
  CHECK(
      complaint({let("a", int_const(1)), assign("a", int_const(2))}).find("'a' is no variable that may be assigned") !=
      std::string::npos);
  CHECK(complaint({loop("i", int_const(0), int_const(4), assign("i", int_const(2)))}).find("'i' is no variable") !=
        std::string::npos);
  CHECK(complaint({assign("begin", int_const(2))}).find("'begin' is no variable") != std::string::npos);
  CHECK(complaint({let("in", int_const(1))}).find("'in' is a parameter") != std::string::npos);
  CHECK(complaint({let("n", int_const(1))}).find("'n' is a parameter") != std::string::npos);
  for (const char* bad : {"for", "f64", "a b", "", "2x", "_x", "a;b", "restrict"})
    CHECK(complaint({let(bad, int_const(1))}).find("is no identifier") != std::string::npos);
  CHECK(complaint({let("b", scalar_param("m"))}).find("no scalar parameter 'm'") != std::string::npos);
  CHECK_THROWS_AS(verify(named("int", {}, {})), InternalError);
  CHECK_THROWS_AS(verify(named("f", {in, in}, {})), InternalError);
  CHECK_THROWS_AS(verify(named("f", {in}, {"in"})), InternalError);
  CHECK_THROWS_AS(verify(named("f", {in}, {"end"})), InternalError);
  CHECK_THROWS_AS(verify(named("f", {{"p", DType::u64, 58}}, {})), InternalError);
  CHECK_NOTHROW(verify(named("f", {{"p", DType::u64, 57}}, {"n"})));
}

TEST_CASE("types") {
  const Expr x = var("x", {DType::f64});
  CHECK(complaint({let("x", int_const(1)), let("y", x)}) == "ir: f: 'x' is i64, not f64, in: let y: f64 = x");
  CHECK(complaint({declare("x", int_const(1)), assign("x", constant(Scalar::of(1.0)))}).find("'x' is i64, not f64") !=
        std::string::npos);
  CHECK(complaint({store_or(1, int_const(0), int_const(1))}).find("the value is i64, not f32") != std::string::npos);
}

TEST_CASE("buffers") {
  CHECK(complaint({let("a", load(in, 5, int_const(0)))}).find("no buffer 5") != std::string::npos);
  CHECK(complaint({let("a", load(in, 1, int_const(0)))}).find("buffer 1 is out, not in") != std::string::npos);
  CHECK(complaint({let("a", load({"in", DType::f64}, 0, int_const(0)))}).find("ill-typed") != std::string::npos);
  CHECK(complaint({store(out, 0, int_const(0), constant(Scalar::of(1.0f)))}).find("in cannot be stored to") !=
        std::string::npos);
  CHECK(complaint({prefetch(2, int_const(0))}).find("no buffer 2") != std::string::npos);
}

TEST_CASE("raw nodes are not trusted") {
  const auto raw = [](ValueNode node) { return std::make_shared<const ValueNode>(std::move(node)); };
  const Expr one = int_const(1), real = constant(Scalar::of(1.0));
  CHECK(complaint({let("a", raw({.kind = ValueNode::binary, .type = {}, .op = Op::add, .args = {one, real}}))})
            .find("ill-typed") != std::string::npos);
  CHECK(complaint(
            {let("a", raw({.kind = ValueNode::binary, .type = {DType::f64}, .op = Op::bit_or, .args = {real, real}}))})
            .find("ill-typed") != std::string::npos);
  CHECK(complaint({let("a", raw({.kind = ValueNode::unary, .type = {DType::u64}, .op = Op::popcount, .args = {one}}))})
            .find("ill-typed") != std::string::npos);
  CHECK(complaint({let("a", raw({.kind = ValueNode::binary, .type = {}, .op = Op::add, .args = {one}}))})
            .find("1 arguments") != std::string::npos);
}
