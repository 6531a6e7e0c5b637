// Values of the tree at one place.
#include "compiler/merge/nest.h"
#include "strata/error.h"

namespace strata::merging {

namespace {

Expr both(const Expr& a, const Expr& b) { return !a ? b : !b ? a : ir::logical_and(a, b); }

/// As NumPy's minimum and maximum: NaN wins.
Expr extreme(const Expr& a, const Expr& b, bool least) {
  if (!is_float(a->type.dtype)) return least ? ir::min(a, b) : ir::max(a, b);
  const Expr better = least ? ir::lt(a, b) : ir::gt(a, b);
  return ir::select(ir::logical_or(better, ir::ne(a, a)), a, b);
}

ir::Op function_of(Operator op) {
  switch (op) {
    case Operator::square_root: return ir::Op::sqrt;
    case Operator::sine: return ir::Op::sin;
    case Operator::hyperbolic_tangent: return ir::Op::tanh;
    case Operator::error_function: return ir::Op::erf;
    case Operator::absolute: return ir::Op::abs;
    default: throw InternalError("merge: no such function");
  }
}

}  // namespace

Value Nest::constant(const Scalar& s) const {
  const Scalar v = s.as(in_.compute);
  if (!arithmetic_.complex()) return {ir::constant(v), nullptr};
  Value out;
  if (in_.compute == DType::c64) {
    float parts[2];
    std::memcpy(parts, v.bits, sizeof parts);
    out = {ir::constant(Scalar::of(parts[0])), ir::constant(Scalar::of(parts[1]))};
  } else {
    double parts[2];
    std::memcpy(parts, v.bits, sizeof parts);
    out = {ir::constant(Scalar::of(parts[0])), ir::constant(Scalar::of(parts[1]))};
  }
  return out;
}

Value Nest::named(const std::string& stem, const Value& v, Stmts& out) {
  const std::string re = names_.fresh(stem);
  out.push_back(ir::let(re, v.re));
  Value kept{ir::var(re, v.re->type), nullptr};
  if (v.im) {
    const std::string im = names_.fresh(stem + "_im");
    out.push_back(ir::let(im, v.im));
    kept.im = ir::var(im, v.im->type);
  }
  return kept;
}

Expr Nest::is_absent(const Value& v) const { return ir::eq(v.re, constant(in_.absent).re); }

Value Nest::apply(Operator op, const Value& a, const Value& b) const {
  switch (op) {
    case Operator::multiply: return arithmetic_.mul(a, b);
    case Operator::add: return arithmetic_.add(a, b);
    case Operator::subtract: return {a.re - b.re, a.im ? a.im - b.im : nullptr};
    case Operator::divide: return {ir::binary(ir::Op::div, a.re, b.re), nullptr};
    case Operator::minimum: return {extreme(a.re, b.re, true), nullptr};
    case Operator::maximum: return {extreme(a.re, b.re, false), nullptr};
    default: throw InternalError("merge: no such operator");
  }
}

Value Nest::apply(Operator op, const Value& a) const {
  if (op == Operator::negate) return {ir::unary(ir::Op::neg, a.re), a.im ? ir::unary(ir::Op::neg, a.im) : nullptr};
  if (op == Operator::relu) return {extreme(a.re, ir::constant(Scalar::zero(arithmetic_.part())), false), nullptr};
  return {ir::unary(function_of(op), a.re), nullptr};
}

Value Nest::combine(const Value& a, const Value& b) const {
  switch (in_.combine) {
    case Combine::plus: return arithmetic_.add(a, b);
    case Combine::either: return {ir::binary(ir::Op::bit_or, a.re, b.re), nullptr};
    case Combine::first: return a;
    default: return {extreme(a.re, b.re, in_.combine == Combine::minimum), nullptr};
  }
}

Nest::Element Nest::load(const Node& node, const Place& at, Stmts& out) {
  const int k = node.operand;
  const Operand& o = operand(k);
  const DType storage = o.type.dtype;
  const int b = buffer(Buffers::values, k, 0, name_of_operand(k) + "_values", compiler::Arithmetic::part_of(storage));
  Expr index = at.position[static_cast<std::size_t>(k)];
  if (o.dense) {
    index = scalar(Scalars::offset, k, 0, name_of_operand(k) + "_offset");
    for (std::size_t l = 0; l < o.vars.size(); ++l) {
      const Expr stride = scalar(Scalars::stride, k, static_cast<int>(l), name_of_operand(k) + "_stride" + std::to_string(l));
      index = index + at.coordinate[static_cast<std::size_t>(o.vars[l])] * stride;
    }
  }
  Value v = arithmetic_.load(params_.param(b), b, storage, index, 1, node.conjugate);
  const Expr present = at.present[static_cast<std::size_t>(k)];
  if (present && at.readable[static_cast<std::size_t>(k)]) v = named("read_" + name_of_operand(k), v, out);
  if (present) v = arithmetic_.either(present, v, constant(in_.absent));
  return {present, named("v_" + name_of_operand(k), v, out)};
}

Nest::Element Nest::evaluate(int n, const Place& at, Stmts& out) {
  const Node& node = in_.nodes[static_cast<std::size_t>(n)];
  switch (node.kind) {
    case Node::constant: return {nullptr, constant(node.value)};
    case Node::access: return load(node, at, out);
    case Node::map: {
      Element a = evaluate(node.arguments[0], at, out);
      return {a.present, apply(node.op, a.value)};
    }
    case Node::all: {
      Element left = evaluate(node.arguments[0], at, out);
      for (std::size_t k = 1; k < node.arguments.size(); ++k) {
        const Element right = evaluate(node.arguments[k], at, out);
        Value v = apply(node.op, left.value, right.value);
        if (in_.ring && in_.compute != DType::boolean)
          v = arithmetic_.either(ir::logical_or(is_absent(left.value), is_absent(right.value)), constant(in_.absent), v);
        left = {both(left.present, right.present), named("product", v, out)};
      }
      return left;
    }
    default: break;
  }
  const auto guarded = [&](int argument) {
    Element e = evaluate(argument, at, out);
    const Node::Kind kind = in_.nodes[static_cast<std::size_t>(argument)].kind;
    if (e.present && kind != Node::access)
      e.value = named("term", arithmetic_.either(e.present, e.value, constant(in_.absent)), out);
    return e;
  };
  Element left = guarded(node.arguments[0]);
  for (std::size_t k = 1; k < node.arguments.size(); ++k) {
    const Element right = guarded(node.arguments[k]);
    const Expr present = left.present && right.present ? ir::logical_or(left.present, right.present) : nullptr;
    left = {present, named("sum", apply(node.op, left.value, right.value), out)};
  }
  return left;
}

}  // namespace strata::merging
