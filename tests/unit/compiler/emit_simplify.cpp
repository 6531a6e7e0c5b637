// What simplify removes, and what it must leave.
#include <doctest/doctest.h>

#include "compiler/passes/simplify.h"

using namespace strata;
using namespace strata::ir;

namespace {

std::string simple(std::vector<Stmt> body) {
  const Function f = simplify({"f", {{"in", DType::i64}, {"out", DType::i64, 0, true}}, {"n"}, block(std::move(body))});
  verify(f);
  const std::string text = to_string(f);
  return text.substr(text.find('\n') + 1);
}
Stmt put(Expr e) { return store({"out", DType::i64, 0, true}, 1, int_const(0), std::move(e)); }
Expr get(Expr i) { return load({"in", DType::i64}, 0, std::move(i)); }

}  // namespace

TEST_CASE("constants and copies take the place of their names, and fold") {
  CHECK(simple({let("a", int_const(2)), let("b", var("a") * 3), put(get(var("b")) + var("a"))}) ==
        "  out[0] = in[6] + 2\n");
  CHECK(simple({let("m", scalar_param("n")), let("b", var("begin")), put(var("m") + var("b"))}) ==
        "  out[0] = n + begin\n");
  CHECK(simple({loop("i", int_const(0), var("end"), block({let("k", var("i")), put(var("k"))}))}) ==
        "  for i = 0 .. end\n    out[0] = i\n");
}

TEST_CASE("copies of what changes stay") {
  CHECK(simple({declare("v", int_const(1)), let("old", var("v")), assign("v", var("v") + 1),
                put(var("old") + var("v"))}) ==
        "  var v: i64 = 1\n  let old: i64 = v\n  v = v + 1\n  out[0] = old + v\n");
  // The inner a hides the outer one: its copy may not be named a in there.
  CHECK(simple({let("a", get(int_const(0))), let("b", var("a")),
                loop("i", int_const(0), int_const(2), block({let("a", get(var("i"))), put(var("a") + var("b"))}))}) ==
        "  let a: i64 = in[0]\n  let b: i64 = a\n  for i = 0 .. 2\n    let a: i64 = in[i]\n    out[0] = a + b\n");
}

TEST_CASE("hints keep the level that they name") {
  CHECK(simple({let("i", var("begin")), prefetch(0, var("i"), true), prefetch(0, var("i")), put(int_const(1))}) ==
        "  prefetch into L2 in[begin]\n  prefetch in[begin]\n  out[0] = 1\n");
}

TEST_CASE("what nobody reads goes") {
  CHECK(simple({let("a", get(int_const(0))), let("b", var("a") + 1), declare("c", int_const(0)),
                assign("c", int_const(2)), put(int_const(1))}) == "  out[0] = 1\n");
  CHECK(simple({loop("i", int_const(0), scalar_param("n"), let("a", get(var("i")))),
                branch(lt(var("begin"), var("end")), let("b", int_const(1))), put(int_const(1))}) == "  out[0] = 1\n");
  CHECK(simple({loop("i", int_const(3), int_const(3), put(int_const(2))), put(int_const(1))}) == "  out[0] = 1\n");
}

TEST_CASE("branches that are decided") {
  CHECK(simple({let("t", bool_const(true)),
                branch(var("t", {DType::boolean}), put(int_const(1)), put(int_const(2)))}) == "  out[0] = 1\n");
  CHECK(simple({let("t", int_const(3)), branch(lt(var("t"), int_const(2)), put(int_const(1)))}) == "  pass\n");
  // Its names stay within it.
  const std::string kept =
      simple({let("t", bool_const(true)),
              branch(var("t", {DType::boolean}), block({let("x", get(int_const(1))), put(var("x"))})),
              let("x", get(int_const(2))), put(var("x"))});
  CHECK(kept == "  if true\n    let x: i64 = in[1]\n    out[0] = x\n  let x: i64 = in[2]\n  out[0] = x\n");
}
