#pragma once
// Kernels written by hand in IR, as the lowering would: shared by the tests of agreement and of golden text.
#include "ir/ir.h"

namespace emit_test {

using namespace strata;
using ir::Expr;
using ir::Op;
using ir::Type;

inline Expr i64_of(Expr e) { return ir::cast(DType::i64, std::move(e)); }
inline Expr number(double v, int lanes = 1) { return ir::constant(Scalar::of(v), lanes); }

/// y(i) = A(i,j) * x(j), A in CSR.
inline ir::Function spmv_csr() {
  const ir::BufferParam pos{"pos", DType::i64}, crd{"crd", DType::i32}, val{"val"}, x{"x"}, y{"y", DType::f64, 0, true};
  const Expr i = ir::var("i"), p = ir::var("p"), s = ir::var("s", {DType::f64});
  const Expr j = i64_of(ir::load(crd, 1, p));
  ir::Function f{"spmv_csr", {pos, crd, val, x, y}, {}, nullptr};
  f.body = ir::loop("i", ir::var("begin"), ir::var("end"),
                    ir::block({
                        ir::declare("s", number(0)),
                        ir::loop("p", ir::load(pos, 0, i), ir::load(pos, 0, i + 1),
                                 ir::block({
                                     ir::prefetch(1, p + 1024),
                                     ir::assign("s", ir::fma(ir::load(val, 2, p), ir::load(x, 3, j), s)),
                                 })),
                        ir::store(y, 4, i, s),
                    }));
  return f;
}

/// C(i,k) = A(i,j) * B(j,k), A in CSR, 2 * `lanes` columns in two vectors.
inline ir::Function spmm_csr(DType t, int lanes) {
  const ir::BufferParam pos{"pos", DType::i32}, crd{"crd", DType::i32}, val{"val", t}, b{"b", t}, c{"c", t, 0, true};
  const Type vector{ir::compute_dtype(t), lanes};
  const Expr i = ir::var("i"), p = ir::var("p"), at = ir::var("at"), v = ir::var("v", vector),
             s0 = ir::var("s0", vector), s1 = ir::var("s1", vector);
  const Expr zero = ir::constant(Scalar::zero(vector.dtype), lanes);
  ir::Function f{"spmm_csr", {pos, crd, val, b, c}, {}, nullptr};
  f.body = ir::loop("i", ir::var("begin"), ir::var("end"),
                    ir::block({
                        ir::declare("s0", zero),
                        ir::declare("s1", zero),
                        ir::loop("p", i64_of(ir::load(pos, 0, i)), i64_of(ir::load(pos, 0, i + 1)),
                                 ir::block({
                                     ir::let("v", ir::broadcast(ir::load(val, 2, p), lanes)),
                                     ir::let("at", i64_of(ir::load(crd, 1, p)) * (2 * lanes)),
                                     ir::assign("s0", ir::fma(v, ir::load(b, 3, at, lanes), s0)),
                                     ir::assign("s1", ir::fma(v, ir::load(b, 3, at + lanes, lanes), s1)),
                                 })),
                        ir::store(c, 4, i * (2 * lanes), s0),
                        ir::store(c, 4, i * (2 * lanes) + lanes, s1),
                    }));
  return f;
}

/// y(i) = A(i,j) * x(j), every row's coordinates as distances of 4 bits.
inline ir::Function spmv_delta() {
  const ir::BufferParam pos{"pos", DType::i32}, delta{"delta", DType::u64, 4}, val{"val", DType::f32},
      x{"x", DType::f32}, y{"y", DType::f32, 0, true};
  const Expr i = ir::var("i"), p = ir::var("p"), j = ir::var("j"), s = ir::var("s", {DType::f32});
  ir::Function f{"spmv_delta", {pos, delta, val, x, y}, {"columns"}, nullptr};
  f.body = ir::loop("i", ir::var("begin"), ir::var("end"),
                    ir::block({
                        ir::declare("j", ir::int_const(-1)),
                        ir::declare("s", ir::constant(Scalar::of(0.0f))),
                        ir::loop("p", i64_of(ir::load(pos, 0, i)), i64_of(ir::load(pos, 0, i + 1)),
                                 ir::block({
                                     ir::assign("j", j + ir::load(delta, 1, p) + 1),
                                     ir::branch(ir::ge(j, ir::scalar_param("columns")), ir::fail(7)),
                                     ir::assign("s", ir::fma(ir::load(val, 2, p), ir::load(x, 3, j), s)),
                                 })),
                        ir::store(y, 4, i, s),
                    }));
  return f;
}

/// y(i) = A(i,j) * x(j), A a bitmap of 64 columns a word; counts what it meets.
inline ir::Function spmv_bitmap() {
  const ir::BufferParam words{"words", DType::u64}, val{"val"}, x{"x"}, y{"y", DType::f64, 0, true},
      count{"count", DType::i64, 0, true};
  const Expr i = ir::var("i"), g = ir::var("g"), p = ir::var("p"), j = ir::var("j"), s = ir::var("s", {DType::f64}),
             bits = ir::var("bits", {DType::u64});
  const Expr n = ir::scalar_param("n"), one = ir::constant(Scalar::of(std::uint64_t{1}));
  ir::Function f{"spmv_bitmap", {words, val, x, y, count}, {"n"}, nullptr};
  f.body = ir::loop(
      "i", ir::var("begin"), ir::var("end"),
      ir::block({
          ir::declare("s", number(0)),
          ir::declare("seen", ir::int_const(0)),
          ir::loop("g", ir::int_const(0), n,
                   ir::block({
                       ir::declare("bits", ir::load(words, 0, i * n + g)),
                       ir::assign("seen", ir::var("seen") + ir::unary(Op::popcount, bits)),
                       ir::while_loop(ir::ne(bits, ir::constant(Scalar::of(std::uint64_t{0}))),
                                      ir::block({
                                          ir::let("j", g * 64 + ir::unary(Op::count_trailing_zeros, bits)),
                                          ir::assign("s", s + ir::load(val, 1, i * n * 64 + j) * ir::load(x, 2, j)),
                                          ir::assign("bits", ir::binary(Op::bit_and, bits, bits - one)),
                                      })),
                   })),
          ir::store(y, 3, i, s),
          ir::store(count, 4, i, ir::var("seen")),
      }));
  return f;
}

/// Dot product of two sparse vectors: the loop may read beyond neither, which && guarantees.
inline ir::Function merge_dot() {
  const ir::BufferParam ca{"ca", DType::i32}, va{"va"}, cb{"cb", DType::u16}, vb{"vb"}, y{"y", DType::f64, 0, true};
  const Expr a = ir::var("a"), b = ir::var("b"), s = ir::var("s", {DType::f64}), na = ir::scalar_param("na"),
             nb = ir::scalar_param("nb");
  const Expr ja = ir::var("ja"), jb = ir::var("jb");
  ir::Function f{"merge_dot", {ca, va, cb, vb, y}, {"na", "nb"}, nullptr};
  f.body = ir::block({
      ir::declare("a", ir::int_const(0)),
      ir::declare("b", ir::int_const(0)),
      ir::declare("s", number(0)),
      ir::while_loop(ir::lt(a, na),
                     ir::block({
                         ir::let("ja", i64_of(ir::load(ca, 0, a))),
                         ir::while_loop(ir::logical_and(ir::lt(b, nb), ir::lt(i64_of(ir::load(cb, 2, b)), ja)),
                                        ir::assign("b", b + 1)),
                         ir::branch(ir::logical_and(ir::lt(b, nb), ir::eq(i64_of(ir::load(cb, 2, b)), ja)),
                                    ir::assign("s", ir::fma(ir::load(va, 1, a), ir::load(vb, 3, b), s))),
                         ir::assign("a", a + 1),
                     })),
      ir::store(y, 4, ir::int_const(0), s),
  });
  return f;
}

/// y(i) = a(i) * x(i) of complex numbers as pairs.
inline ir::Function complex_multiply() {
  const ir::BufferParam a{"a", DType::f32}, x{"x", DType::f32}, y{"y", DType::f32, 0, true};
  const Expr i = ir::var("i"), re = ir::var("re"), im = ir::var("im");
  const auto f32 = [](const char* name) { return ir::var(name, {DType::f32}); };
  ir::Function f{"complex_multiply", {a, x, y}, {}, nullptr};
  f.body = ir::loop("i", ir::var("begin"), ir::var("end"),
                    ir::block({
                        ir::let("ar", ir::load(a, 0, i * 2)),
                        ir::let("ai", ir::load(a, 0, i * 2 + 1)),
                        ir::let("xr", ir::load(x, 1, i * 2)),
                        ir::let("xi", ir::load(x, 1, i * 2 + 1)),
                        ir::store(y, 2, i * 2, f32("ar") * f32("xr") - f32("ai") * f32("xi")),
                        ir::store(y, 2, i * 2 + 1, ir::fma(f32("ar"), f32("xi"), f32("ai") * f32("xr"))),
                    }));
  return f;
}

/// Dot products of rows by vectors of `lanes`, with a tail; the tree of the reduction is fixed.
inline ir::Function row_dots(int lanes) {
  const ir::BufferParam a{"a"}, x{"x"}, y{"y", DType::f64, 0, true};
  const Expr i = ir::var("i"), k = ir::var("k"), s = ir::var("s", {DType::f64, lanes}), t = ir::var("t", {DType::f64});
  const Expr n = ir::scalar_param("n"), whole = ir::floor_div(n, lanes) * lanes;
  ir::Function f{"row_dots", {a, x, y}, {"n"}, nullptr};
  f.body = ir::loop(
      "i", ir::var("begin"), ir::var("end"),
      ir::block({
          ir::declare("s", number(0, lanes)),
          ir::let("whole", whole),
          ir::loop("k", ir::int_const(0), ir::var("whole"),
                   ir::assign("s", ir::fma(ir::load(a, 0, i * n + k, lanes), ir::load(x, 1, k, lanes), s)), lanes),
          ir::declare("t", ir::reduce_lanes(Op::add, s)),
          ir::loop("k", ir::var("whole"), n, ir::assign("t", t + ir::load(a, 0, i * n + k) * ir::load(x, 1, k))),
          ir::loop("u", ir::int_const(0), ir::int_const(2), ir::assign("t", t * number(0.5)), 1,
                   ir::LoopKind::unrolled),
          ir::store(y, 2, i, t),
      }));
  return f;
}

/// Packs i64 coordinates into slots of `bits`.
inline ir::Function pack(int bits) {
  const ir::BufferParam from{"from", DType::i64}, to{"to", DType::u64, bits, true}, words{"words", DType::u32, 0, true};
  const Expr i = ir::var("i");
  ir::Function f{"pack", {from, to, words}, {}, nullptr};
  f.body = ir::loop(
      "i", ir::var("begin"), ir::var("end"),
      ir::block({
          ir::store_or(1, i, ir::load(from, 0, i)),
          ir::store_or(2, ir::floor_div(i, 32),
                       ir::binary(Op::shift_left, ir::constant(Scalar::of(std::uint32_t{1})), ir::cast(DType::u32, i))),
      }));
  return f;
}

}  // namespace emit_test
