// Values of the tree at one place.
#include "compiler/values.h"
#include "strata/error.h"

#include <algorithm>
#include <limits>

namespace strata::merging {

namespace {

/// The exact result of what f16 and bf16 hold is of their kind again.
bool is_exact(Operator op) {
  return op == Operator::minimum || op == Operator::maximum || op == Operator::negate || op == Operator::absolute ||
         op == Operator::sign || op == Operator::relu || is_comparison(op);
}

/// As NumPy's minimum and maximum: NaN wins, and `a` stays where both are equal. Processors have the inner choice as
/// one instruction, which is all that the next term of a sum waits for: whether its own b is NaN is known before.
/// (A single NaN is added to itself, which changes nothing: of two choices of the same b, LLVM makes one under "or",
/// which is a jump without AVX-512.)
Expr extreme(const Expr& a, const Expr& b, bool least) {
  if (a->type.dtype == DType::boolean) return ir::binary(least ? ir::Op::bit_and : ir::Op::bit_or, a, b);
  if (!is_float(a->type.dtype)) return least ? ir::min(a, b) : ir::max(a, b);
  const Expr kept = b->type.lanes == 1 ? b + b : b;
  return ir::select(ir::ne(b, b), kept, ir::select(least ? ir::lt(b, a) : ir::gt(b, a), b, a));
}

Expr either(const Expr& a, const Expr& b) {
  return a->type.lanes == 1 ? ir::logical_or(a, b) : ir::binary(ir::Op::bit_or, a, b);
}

bool is_lanewise(Operator op) {
  switch (op) {
    case Operator::add:
    case Operator::subtract:
    case Operator::multiply:
    case Operator::divide:
    case Operator::minimum:
    case Operator::maximum:
    case Operator::negate:
    case Operator::absolute:
    case Operator::relu:
    case Operator::sign:
    case Operator::square_root:
    case Operator::exponential:
    case Operator::logarithm:
    case Operator::hyperbolic_tangent: return true;
    default: return false;
  }
}

bool node_has_lanes(const ElementwiseNode& n, DType t) {
  if (n.kind == ElementwiseNode::constant) return true;
  if (n.kind == ElementwiseNode::access) return n.dtype == t;
  return n.compute == t && n.dtype == t &&
         (n.formula.empty() ? is_lanewise(n.op) : std::ranges::all_of(n.formula, [&](const ElementwiseNode& f) {
           return node_has_lanes(f, t);
         }));
}

ir::Op function_of(Operator op) {
  switch (op) {
    case Operator::square_root: return ir::Op::sqrt;
    case Operator::sine: return ir::Op::sin;
    case Operator::tangent: return ir::Op::tan;
    case Operator::hyperbolic_tangent: return ir::Op::tanh;
    case Operator::error_function: return ir::Op::erf;
    case Operator::absolute: return ir::Op::abs;
    case Operator::exponential: return ir::Op::exp;
    case Operator::logarithm: return ir::Op::log;
    case Operator::cosine: return ir::Op::cos;
    default: throw InternalError("merge: no such function");
  }
}

}  // namespace

Values::Values(const Input& input)
    : Cursors(input),
      arithmetic_(input.compute),
      last_var_(input.nodes.size(), -1),
      parent_(input.nodes.size(), -1),
      moves_(input.nodes.size(), 0),
      held_(input.nodes.size(), 0) {
  in_vectors_ = takes_places_in_vectors();
  for (std::size_t k = 0; k < in_.nodes.size(); ++k) {
    if (in_.nodes[k].kind == ElementwiseNode::access) {
      for (int v : operand(in_.nodes[k].operand).vars) last_var_[k] = std::max(last_var_[k], v);
      moves_[k] = moves(in_.nodes[k].operand);
      held_[k] = is_held(in_.nodes[k].operand);
    }
    for (int a : in_.nodes[k].arguments) {
      parent_[static_cast<std::size_t>(a)] = static_cast<int>(k);
      last_var_[k] = std::max(last_var_[k], last_var_[static_cast<std::size_t>(a)]);
      if (moves_[static_cast<std::size_t>(a)]) moves_[k] = 1;
      if (held_[static_cast<std::size_t>(a)]) held_[k] = 1;
    }
  }
}

bool Values::takes_places_in_vectors() const {
  const int last = in_.num_vars - 1;
  if (in_.pattern < 0 || in_.mask >= 0 || in_.slots || in_.lanes < 2 || last < 1 || constant_extent(last) < 2 ||
      std::ranges::find(in_.summed, 1) != in_.summed.end() ||
      (static_cast<std::size_t>(last) < in_.hints.size() && in_.hints[static_cast<std::size_t>(last)] != Hint::none))
    return false;
  for (int k = 0; k < static_cast<int>(in_.operands.size()); ++k) {
    const Operand& o = operand(k);
    if (o.dense) {
      if (o.has(last) && (o.contiguous < 0 || o.vars[static_cast<std::size_t>(o.contiguous)] != last)) return false;
    } else if ((k != in_.pattern && o.twin != in_.pattern) || o.missing ||
               o.type.levels.back().kind != LevelKind::dense) {
      return false;
    }
  }
  return has_lanes(in_, [&](int k) { return operand(k).dense ? operand(k).has(last) : !operand(k).type.shared_value; });
}

bool Values::moves(int k) const {
  const int along = in_.tile >= 0 ? in_.tile : in_.num_vars - 1;
  if (in_vectors_ && !operand(k).dense) return !operand(k).type.shared_value;
  if (in_.lanes_of_sum && operand(k).type.shared_value) return false;
  if (in_.lanes_of_sum) return operand(k).has(along);
  if (operand(k).tail > 0 && operand(k).vars.back() == along) return !operand(k).type.shared_value;
  return operand(k).dense && operand(k).has(along);
}

bool Values::is_held(int k) const {
  return std::ranges::any_of(in_.held, [&](const HeldPlaces& h) { return operand(k).has(h.var); });
}

void Values::widen(Value& a, Value& b) const {
  const int lanes = std::max(a.lanes(), b.lanes());
  if (a.lanes() < lanes) a = arithmetic_.broadcast(a, lanes);
  if (b.lanes() < lanes) b = arithmetic_.broadcast(b, lanes);
}

Value Values::constant(const Scalar& s) const {
  if (!is_complex(s.dtype)) return {ir::constant(s.as(ir::compute_dtype(s.dtype))), nullptr};
  if (s.dtype == DType::c64) {
    float parts[2];
    std::memcpy(parts, s.bits, sizeof parts);
    return {ir::constant(Scalar::of(parts[0])), ir::constant(Scalar::of(parts[1]))};
  }
  double parts[2];
  std::memcpy(parts, s.bits, sizeof parts);
  return {ir::constant(Scalar::of(parts[0])), ir::constant(Scalar::of(parts[1]))};
}

Scalar Values::nothing(DType t) const {
  const auto canonical = [&](DType d) {
    const bool low = in_.combine == Combine::maximum;
    if (is_float(d))
      return Scalar::of(low ? -std::numeric_limits<double>::infinity() : std::numeric_limits<double>::infinity()).as(d);
    if (is_unsigned_int(d)) return Scalar::of(low ? std::uint64_t{0} : UINT64_MAX >> (64 - 8 * size_of(d))).as(d);
    const std::int64_t most = INT64_MAX >> (64 - 8 * size_of(d));
    return Scalar::of(low ? -most - 1 : most).as(d);
  };
  const DType own = in_.absent.dtype;
  const bool ordered = in_.combine == Combine::minimum || in_.combine == Combine::maximum;
  const bool plain = ordered && own != DType::boolean && t != DType::boolean && !is_complex(own) && !is_complex(t);
  return plain && in_.absent.same_bits(canonical(own)) ? canonical(t) : in_.absent.as(t);
}

Value Values::cast(const Value& v, DType from, DType to) const {
  if (from == to) return v;
  if (in_.ring && is_integer(from) && to != DType::boolean && !is_complex(to) && in_.combine != Combine::first) {
    const DType part = ir::compute_dtype(to);
    return {ir::select(ir::eq(v.re, constant(nothing(from)).re), constant(nothing(to)).re,
                       ir::rounded(ir::cast(part, v.re), to)),
            nullptr};
  }
  const DType part = part_dtype(ir::compute_dtype(to));
  Value out{ir::rounded(ir::cast(part, v.re), to), nullptr};
  // A complex number is true unless both of its parts are 0.
  if (to == DType::boolean && v.im) out.re = ir::logical_or(out.re, ir::cast(part, v.im));
  if (is_complex(to)) out.im = v.im ? ir::cast(part, v.im) : Arithmetic(to).zero().re;
  return out;
}

Value Values::named(const std::string& stem, const Value& v, Stmts& out) {
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

Expr Values::is_absent(const Value& v) const {
  return ir::eq(v.re, ir::broadcast(constant(nothing(v.re->type.dtype)).re, v.lanes()));
}

Value Values::rounded(const ElementwiseNode& n, const Value& v) const {
  return is_exact(n.op) ? v : Value{ir::rounded(v.re, n.compute), v.im};
}

Value Values::apply(const ElementwiseNode& n, const Value& a, const Value& b) const {
  const Arithmetic arithmetic(ir::compute_dtype(n.compute));
  const auto compared = [&](ir::Op op) { return Value{ir::binary(op, a.re, b.re), nullptr}; };
  switch (n.op) {
    case Operator::multiply: return arithmetic.mul(a, b);
    case Operator::add: return arithmetic.add(a, b);
    case Operator::subtract: return {a.re - b.re, a.im ? a.im - b.im : nullptr};
    case Operator::divide: return {ir::binary(ir::Op::div, a.re, b.re), nullptr};
    case Operator::floor_divide: return {ir::binary(ir::Op::floor_div, a.re, b.re), nullptr};
    case Operator::modulo: return {ir::binary(ir::Op::floor_mod, a.re, b.re), nullptr};
    case Operator::minimum: return {extreme(a.re, b.re, true), nullptr};
    case Operator::maximum: return {extreme(a.re, b.re, false), nullptr};
    case Operator::equal: return compared(ir::Op::eq);
    case Operator::not_equal: return compared(ir::Op::ne);
    case Operator::less: return compared(ir::Op::lt);
    case Operator::less_equal: return compared(ir::Op::le);
    case Operator::greater: return compared(ir::Op::gt);
    case Operator::greater_equal: return compared(ir::Op::ge);
    default: throw InternalError("merge: no such operator");
  }
}

Value Values::apply(const ElementwiseNode& n, const Value& a) const {
  const Expr zero = ir::constant(Scalar::zero(part_dtype(ir::compute_dtype(n.compute))), a.lanes());
  switch (n.op) {
    case Operator::negate: return {ir::unary(ir::Op::neg, a.re), a.im ? ir::unary(ir::Op::neg, a.im) : nullptr};
    case Operator::relu: return {extreme(a.re, zero, false), nullptr};
    case Operator::sign: {  // NaN stays
      const auto number = [&](double x) { return ir::constant(Scalar::of(x).as(a.re->type.dtype), a.lanes()); };
      const Expr rest = ir::select(ir::eq(a.re, zero), number(0), a.re);
      const Expr below = is_unsigned_int(n.compute) ? rest : ir::select(ir::lt(a.re, zero), number(-1), rest);
      return {ir::select(ir::gt(a.re, zero), number(1), below), nullptr};
    }
    default: return {ir::unary(function_of(n.op), a.re), nullptr};
  }
}

Value Values::made_of(const ElementwiseNode& n, const Value& a, const Value& b, Stmts& out) {
  std::vector<Value> values;
  for (const ElementwiseNode& f : n.formula) {
    const auto argument = [&](std::size_t k) {
      const auto of = static_cast<std::size_t>(f.arguments[k]);
      return cast(values[of], n.formula[of].dtype, f.compute);
    };
    if (f.kind == ElementwiseNode::constant) values.push_back(constant(f.value));
    else if (f.kind == ElementwiseNode::access) values.push_back(f.operand == 0 ? a : b);
    else {
      Value left = argument(0), right = f.arguments.size() == 1 ? left : argument(1);
      widen(left, right);
      const Value made = f.arguments.size() == 1 ? apply(f, left) : apply(f, left, right);
      values.push_back(named("part", cast(rounded(f, made), f.compute, f.dtype), out));
    }
  }
  return cast(values.back(), n.formula.back().dtype, n.compute);
}

Value Values::combine(const Value& a, const Value& b) const {
  switch (in_.combine) {
    case Combine::plus: return arithmetic_.add(a, b);
    case Combine::either: return {ir::binary(ir::Op::bit_or, a.re, b.re), nullptr};
    case Combine::both: return {ir::binary(ir::Op::bit_and, a.re, b.re), nullptr};
    case Combine::first: return a;
    default: return {extreme(a.re, b.re, in_.combine == Combine::minimum), nullptr};
  }
}

Expr Values::dense_index(int k, const Place& at) {
  const auto& vars = operand(k).vars;
  Expr index = scalar(ScalarBinding::offset, k, 0, name_of_operand(k) + "_offset");
  for (std::size_t l = 0; l < vars.size(); ++l) {
    Expr step = at.coordinate[static_cast<std::size_t>(vars[l])];
    if (static_cast<int>(l) != operand(k).contiguous)
      step = step *
             scalar(ScalarBinding::stride, k, static_cast<int>(l), name_of_operand(k) + "_stride" + std::to_string(l));
    index = index + step;
  }
  return index;
}

Element Values::load(const ElementwiseNode& node, const Place& at, Stmts& out) {
  const int k = node.operand;
  const Operand& o = operand(k);
  const DType storage = o.type.dtype;
  const int b = buffer(BufferBinding::values, k, 0, name_of_operand(k) + "_values", part_dtype(storage));
  const Expr index = o.dense ? dense_index(k, at) : o.type.shared_value ? ir::int_const(0) : slot(k, at);
  const compiler::Group group = moves(k) ? at.group : compiler::Group{};
  Value v = Arithmetic(ir::compute_dtype(node.dtype))
                .load(params_.param(b), b, storage, index + group.offset, group.lanes, node.conjugate);
  Expr present = at.present[static_cast<std::size_t>(k)];
  if (o.missing || (present && at.readable[static_cast<std::size_t>(k)]))
    v = named("read_" + name_of_operand(k), v, out);
  if (o.missing)
    present = both(present, ir::ne(v.re, ir::broadcast(constant(o.missing->as(node.dtype)).re, v.lanes())));
  if (present) v = arithmetic_.either(present, v, arithmetic_.broadcast(constant(node.value), v.lanes()));
  // (Only in a semiring, where what is absent changes nothing, are values taken in vectors some of which are missing.)
  if (o.missing && v.lanes() > 1) present = nullptr;
  return {present, named("v_" + name_of_operand(k), v, out)};
}

Element Values::argument(const ElementwiseNode& node, std::size_t which, bool filled, const Place& at, Stmts& out) {
  const int n = node.arguments[which];
  const ElementwiseNode& child = in_.nodes[static_cast<std::size_t>(n)];
  Element e = evaluate(n, at, out);
  // An access and a union have their fill where they are absent.
  if (filled && e.present && (child.kind == ElementwiseNode::all || child.kind == ElementwiseNode::map)) {
    const Value absent = arithmetic_.broadcast(constant(child.value), e.value.lanes());
    e.value = named("term", arithmetic_.either(e.present, e.value, absent), out);
  }
  e.value = cast(e.value, child.dtype, node.compute);
  return e;
}

void Values::hoist(int var, Place& at, Stmts& out) {
  for (std::size_t n = 0; n < in_.nodes.size(); ++n) {
    const int parent = parent_[n];
    if (moves_[n] || held_[n]) continue;  // a value for each group of the piece: where it is needed
    if (last_var_[n] != var || (parent >= 0 && last_var_[static_cast<std::size_t>(parent)] == var)) continue;
    Element e = evaluate(static_cast<int>(n), at, out);
    if (in_.nodes[n].kind == ElementwiseNode::map) e.value = named("value", e.value, out);
    at.known[n] = std::move(e);
  }
}

bool has_lanes(const Computation& in, const std::function<bool(int)>& moves) {
  // What truths are made of has another dtype than they.
  const ElementwiseNode& root = in.nodes.back();
  const DType t = in.compute == DType::boolean && root.kind != ElementwiseNode::access ? root.compute : in.compute;
  std::vector<char> moving(in.nodes.size(), 0);
  for (std::size_t k = 0; k < in.nodes.size(); ++k) {
    const ElementwiseNode& node = in.nodes[k];
    if (node.kind == ElementwiseNode::access) moving[k] = moves(node.operand);
    for (int a : node.arguments)
      if (moving[static_cast<std::size_t>(a)]) moving[k] = 1;
    if (!moving[k]) continue;
    if (node.kind == ElementwiseNode::access) {
      if (node.conjugate || ir::compute_dtype(node.dtype) != t) return false;
    } else if (!node_has_lanes(node, t)) {
      return false;
    }
  }
  return moving.back() != 0;
}

bool annihilates(const Input& in, int n) {
  const bool extreme = in.ring && (in.combine == Combine::minimum || in.combine == Combine::maximum);
  const bool truth = in.combine == Combine::either && in.compute == DType::boolean;
  if (!in.dense_result || in.others || !(extreme || truth) ||
      in.nodes[static_cast<std::size_t>(n)].kind != ElementwiseNode::access)
    return false;
  const auto parent_of = [&](int child) {
    for (std::size_t k = 0; k < in.nodes.size(); ++k)
      if (const auto& a = in.nodes[k].arguments; std::find(a.begin(), a.end(), child) != a.end())
        return static_cast<int>(k);
    return -1;
  };
  for (int p = parent_of(n); p >= 0; p = parent_of(p)) {
    const ElementwiseNode& node = in.nodes[static_cast<std::size_t>(p)];
    if (node.kind != ElementwiseNode::all ||
        (truth && (node.op != Operator::multiply || node.compute != DType::boolean)))
      return false;
  }
  return true;
}

Expr Values::annihilated(int var, const Place& at) const {
  Expr out;
  for (std::size_t n = 0; n < in_.nodes.size(); ++n) {
    if (last_var_[n] != var || !at.known[n] || !annihilates(in_, static_cast<int>(n))) continue;
    const Value& v = at.known[n]->value;
    if (!in_.ring && v.re->type.dtype != DType::boolean) continue;
    const Expr none = in_.ring ? is_absent(v) : ir::logical_not(v.re);
    out = out ? ir::logical_or(out, none) : none;
  }
  return out;
}

Element Values::evaluate(int n, const Place& at, Stmts& out) {
  if (const auto& known = at.known[static_cast<std::size_t>(n)]) return *known;
  Element e = value_of(n, at, out);
  if (const ElementwiseNode& node = in_.nodes[static_cast<std::size_t>(n)]; node.no_sign) {
    const Arithmetic arithmetic(ir::compute_dtype(node.dtype));
    e.value = arithmetic.add(e.value, arithmetic.zero(e.value.lanes()));
  }
  return e;
}

Element Values::value_of(int n, const Place& at, Stmts& out) {
  const ElementwiseNode& node = in_.nodes[static_cast<std::size_t>(n)];
  if (node.kind == ElementwiseNode::constant) return {nullptr, constant(node.value)};
  if (node.kind == ElementwiseNode::access) return load(node, at, out);
  if (node.kind == ElementwiseNode::map) {
    const Element a = argument(node, 0, false, at, out);
    return {a.present, cast(rounded(node, apply(node, a.value)), node.compute, node.dtype)};
  }
  const bool all = node.kind == ElementwiseNode::all;
  const auto counts = [&](std::size_t k) {
    return all ? node.needed[k] != 0
               : in_.nodes[static_cast<std::size_t>(node.arguments[k])].kind != ElementwiseNode::constant;
  };
  Element left;
  bool known = false;  // an argument that counts was there everywhere
  for (std::size_t k = 0; k < node.arguments.size(); ++k) {
    Element right = argument(node, k, !all || !node.needed[k], at, out);
    if (counts(k)) {
      if (all) left.present = both(left.present, right.present);
      else if (!right.present) known = true;
      else left.present = left.present ? ir::logical_or(left.present, right.present) : right.present;
    }
    if (k == 0) {
      left.value = right.value;
      continue;
    }
    widen(left.value, right.value);
    Value v = node.formula.empty() ? rounded(node, apply(node, left.value, right.value))
                                   : made_of(node, left.value, right.value, out);
    if (all && in_.ring && in_.compute != DType::boolean && !checks_)
      v = arithmetic_.either(either(is_absent(left.value), is_absent(right.value)),
                             arithmetic_.broadcast(constant(nothing(v.re->type.dtype)), v.lanes()), v);
    left.value = named(all ? "product" : "sum", v, out);
    if (all && checks_) note_unsure(left.value, at.chain, out);
  }
  if (known) left.present = nullptr;
  return left;
}

}  // namespace strata::merging
