#include "compiler/value.h"

#include <algorithm>

namespace strata::compiler {

using ir::Expr;

Value Arithmetic::zero(int lanes) const {
  const Expr z = ir::constant(Scalar::zero(part_), lanes);
  return {z, complex() ? z : nullptr};
}

Value Arithmetic::load(const ir::BufferParam& buffer, int buffer_index, DType storage, const Expr& index, int lanes,
                       bool conjugate) const {
  if (!is_complex(storage)) {
    const Expr re = ir::cast(part_, ir::load(buffer, buffer_index, index, lanes));
    return {re, complex() ? zero(lanes).re : nullptr};
  }
  const Expr at = index * 2;
  const Expr re = ir::cast(part_, ir::load(buffer, buffer_index, at));
  if (!complex()) return {re, nullptr};
  const Expr im = ir::cast(part_, ir::load(buffer, buffer_index, at + 1));
  return {re, conjugate ? ir::unary(ir::Op::neg, im) : im};
}

ir::Stmt Arithmetic::store(const ir::BufferParam& buffer, int buffer_index, DType storage, const Expr& index,
                           const Value& value) const {
  const DType part = ir::compute_dtype(part_dtype(storage));
  if (!is_complex(storage)) return ir::store(buffer, buffer_index, index, ir::cast(part, value.re));
  const Expr at = index * 2, im = value.im ? value.im : zero(value.lanes()).re;
  return ir::block({ir::store(buffer, buffer_index, at, ir::cast(part, value.re)),
                    ir::store(buffer, buffer_index, at + 1, ir::cast(part, im))});
}

Value Arithmetic::mul(const Value& a, const Value& b) const {
  const int lanes = std::max(a.lanes(), b.lanes());
  const Value x = like(a, lanes), y = like(b, lanes);
  if (boolean()) return {ir::binary(ir::Op::bit_and, x.re, y.re), nullptr};
  if (!complex()) return {x.re * y.re, nullptr};
  return {ir::fma(x.re, y.re, ir::unary(ir::Op::neg, x.im * y.im)), ir::fma(x.re, y.im, x.im * y.re)};
}

Value Arithmetic::add(const Value& a, const Value& b) const {
  if (boolean()) return {ir::binary(ir::Op::bit_or, a.re, b.re), nullptr};
  return {a.re + b.re, complex() ? a.im + b.im : nullptr};
}

Value Arithmetic::mul_add(const Value& a, const Value& b, const Value& c) const {
  const int lanes = std::max({a.lanes(), b.lanes(), c.lanes()});
  const Value x = like(a, lanes), y = like(b, lanes), z = like(c, lanes);
  if (boolean()) return {ir::binary(ir::Op::bit_or, z.re, ir::binary(ir::Op::bit_and, x.re, y.re)), nullptr};
  if (!complex()) return {ir::fma(x.re, y.re, z.re), nullptr};
  return {ir::fma(ir::unary(ir::Op::neg, x.im), y.im, ir::fma(x.re, y.re, z.re)),
          ir::fma(x.im, y.re, ir::fma(x.re, y.im, z.im))};
}

Value Arithmetic::broadcast(const Value& a, int lanes) const {
  return {ir::broadcast(a.re, lanes), a.im ? ir::broadcast(a.im, lanes) : nullptr};
}

Expr Arithmetic::is_zero(const Value& a) const {
  const Expr z = zero().re;
  if (boolean()) return ir::logical_not(a.re);
  const Expr re = ir::eq(a.re, z);
  return a.im ? ir::logical_and(re, ir::eq(a.im, z)) : re;
}

Value Arithmetic::either(const Expr& condition, const Value& a, const Value& b) const {
  return {ir::select(condition, a.re, b.re), a.im ? ir::select(condition, a.im, b.im) : nullptr};
}

}  // namespace strata::compiler
