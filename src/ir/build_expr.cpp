// Building expressions: every constructor checks its types and folds what is already known.
#include <initializer_list>

#include "ir/semantics.h"
#include "strata/error.h"

namespace strata::ir {
namespace {

Expr make(ValueNode node) { return std::make_shared<const ValueNode>(std::move(node)); }

[[noreturn]] void wrong(std::string_view what, std::initializer_list<Type> types) {
  std::string text = "ir: " + std::string(what) + " of ";
  bool first = true;
  for (const auto& t : types) {
    text += (first ? "" : " and ") + to_string(t);
    first = false;
  }
  throw InternalError(text);
}

void check_lanes(int lanes) {
  if (lanes < 1 || lanes > 64 || (lanes & (lanes - 1)) != 0)
    throw InternalError("ir: " + std::to_string(lanes) + " lanes (1, 2, 4, 8, 16, 32 or 64)");
}

bool is_constant(const Expr& e) { return e->kind == ValueNode::constant; }
bool is_int(const Type& t) { return is_integer(t.dtype); }
/// A constant integer of this value, whatever its type and lanes.
bool is_int_constant(const Expr& e, std::int64_t value) {
  return is_constant(e) && is_int(e->type) && fold_cast(DType::i64, e->value).to_int64() == value;
}
bool is_bool_constant(const Expr& e, bool value) {
  return is_constant(e) && e->type.dtype == DType::boolean && (e->value.bits[0] != 0) == value;
}

Expr zero_of(Type t) { return constant(Scalar::zero(t.dtype), t.lanes); }

/// The identities of integers that keep lowered text short. Null: none applies.
Expr simplify_integer(Op op, const Expr& a, const Expr& b) {
  switch (op) {
    case Op::add:
      if (is_int_constant(a, 0)) return b;
      if (is_int_constant(b, 0)) return a;
      if (is_constant(a)) return binary(Op::add, b, a);
      // (x + c) + d: offsets meet
      if (is_constant(b) && a->kind == ValueNode::binary && a->op == Op::add && is_constant(a->args[1]))
        return binary(Op::add, a->args[0], binary(Op::add, a->args[1], b));
      return nullptr;
    case Op::sub:
      if (is_int_constant(b, 0)) return a;
      if (a == b) return zero_of(a->type);
      if (is_constant(b) && a->kind == ValueNode::binary && a->op == Op::add && is_constant(a->args[1]))
        return binary(Op::add, a->args[0], binary(Op::sub, a->args[1], b));
      return nullptr;
    case Op::mul:
      if (is_int_constant(a, 1)) return b;
      if (is_int_constant(b, 1)) return a;
      if (is_int_constant(a, 0)) return a;
      if (is_int_constant(b, 0)) return b;
      if (is_constant(a)) return binary(Op::mul, b, a);
      if (is_constant(b) && a->kind == ValueNode::binary && a->op == Op::mul && is_constant(a->args[1]))
        return binary(Op::mul, a->args[0], binary(Op::mul, a->args[1], b));
      return nullptr;
    case Op::floor_div: return is_int_constant(b, 1) || is_int_constant(a, 0) ? a : nullptr;
    case Op::floor_mod: return is_int_constant(b, 1) ? zero_of(a->type) : is_int_constant(a, 0) ? a : nullptr;
    case Op::bit_and: return is_int_constant(a, 0) ? a : is_int_constant(b, 0) ? b : nullptr;
    case Op::bit_or:
    case Op::bit_xor: return is_int_constant(a, 0) ? b : is_int_constant(b, 0) ? a : nullptr;
    case Op::shift_left:
    case Op::shift_right: return is_int_constant(b, 0) ? a : nullptr;
    case Op::min:
    case Op::max: return a == b ? a : nullptr;
    case Op::eq:
    case Op::le:
    case Op::ge: return a == b ? constant(Scalar::of(true), a->type.lanes) : nullptr;
    case Op::ne:
    case Op::lt:
    case Op::gt: return a == b ? constant(Scalar::of(false), a->type.lanes) : nullptr;
    default: return nullptr;
  }
}

Expr simplify_bool(Op op, const Expr& a, const Expr& b) {
  if (op == Op::bit_and) {
    if (is_bool_constant(a, true) || is_bool_constant(b, false)) return b;
    if (is_bool_constant(b, true) || is_bool_constant(a, false)) return a;
  }
  if (op == Op::bit_or) {
    if (is_bool_constant(a, false) || is_bool_constant(b, true)) return b;
    if (is_bool_constant(b, false) || is_bool_constant(a, true)) return a;
  }
  if (op == Op::eq || op == Op::ne) {
    const bool same = op == Op::eq;
    if (is_constant(a)) return is_bool_constant(a, same) ? b : unary(Op::logical_not, b);
    if (is_constant(b)) return is_bool_constant(b, same) ? a : unary(Op::logical_not, a);
  }
  return nullptr;
}

/// An i64 constant in the dtype and lanes of its partner.
Expr like(const Expr& e, std::int64_t value) {
  return constant(fold_cast(e->type.dtype, Scalar::of(value)), e->type.lanes);
}

}  // namespace

Expr constant(Scalar value, int lanes) {
  check_lanes(lanes);
  const DType t = value.dtype;
  with_type(t, [](auto) {});  // refuses storage types
  return make({.kind = ValueNode::constant, .type = {t, lanes}, .value = value});
}
Expr int_const(std::int64_t value) { return constant(Scalar::of(value)); }
Expr bool_const(bool value) { return constant(Scalar::of(value)); }

Expr var(std::string name, Type type) {
  check_lanes(type.lanes);
  with_type(type.dtype, [](auto) {});
  return make({.kind = ValueNode::variable, .type = type, .name = std::move(name)});
}
Expr scalar_param(std::string name) {
  return make({.kind = ValueNode::scalar_param, .type = {}, .name = std::move(name)});
}

Expr load(const BufferParam& buffer, int buffer_index, Expr index, int lanes) {
  check_lanes(lanes);
  if (index->type != Type{}) wrong("load at an index", {index->type});
  if (is_complex(buffer.dtype))
    throw InternalError("ir: complex buffer '" + buffer.name + "': declare twice as many floats");
  const DType t = buffer.packed_bits > 0 ? DType::i64 : compute_dtype(buffer.dtype);
  return make({.kind = ValueNode::load,
               .type = {t, lanes},
               .name = buffer.name,
               .index = buffer_index,
               .args = {std::move(index)}});
}

Expr unary(Op op, Expr a) {
  if (is_binary(op)) throw InternalError("ir: " + std::string(name_of(op)) + " is not unary");
  if (op == Op::bit_not && a->type.dtype == DType::boolean) op = Op::logical_not;
  if (!is_defined(op, a->type.dtype)) wrong(name_of(op), {a->type});
  Type t = a->type;
  if (op == Op::popcount || op == Op::count_trailing_zeros) t.dtype = DType::i64;
  // Library functions are left to the engine that runs: they may differ in the last bit.
  const bool library = op >= Op::exp && op <= Op::erf;
  if (is_constant(a) && !library) return constant(fold_unary(op, a->value), t.lanes);
  if ((op == Op::logical_not || op == Op::neg || op == Op::bit_not) && a->kind == ValueNode::unary && a->op == op)
    return a->args[0];
  return make({.kind = ValueNode::unary, .type = t, .op = op, .args = {std::move(a)}});
}

Expr rounded(Expr a, DType storage) {
  switch (storage) {
    case DType::f16: return unary(Op::round_f16, std::move(a));
    case DType::bf16: return unary(Op::round_bf16, std::move(a));
    case DType::f8e4m3: return unary(Op::round_f8e4m3, std::move(a));
    case DType::f8e5m2: return unary(Op::round_f8e5m2, std::move(a));
    default: return a;
  }
}

Expr binary(Op op, Expr a, Expr b) {
  if (!is_binary(op)) throw InternalError("ir: " + std::string(name_of(op)) + " is not binary");
  if (a->type != b->type || !is_defined(op, a->type.dtype)) wrong(name_of(op), {a->type, b->type});
  Type t = a->type;
  if (is_compare(op)) t.dtype = DType::boolean;
  if (is_constant(a) && is_constant(b)) return constant(fold_binary(op, a->value, b->value), t.lanes);
  if (is_int(a->type))
    if (Expr e = simplify_integer(op, a, b)) return e;
  if (a->type.dtype == DType::boolean)
    if (Expr e = simplify_bool(op, a, b)) return e;
  return make({.kind = ValueNode::binary, .type = t, .op = op, .args = {std::move(a), std::move(b)}});
}

Expr select(Expr condition, Expr a, Expr b) {
  const Type c = condition->type;
  if (c.dtype != DType::boolean || (c.lanes != 1 && c.lanes != a->type.lanes) || a->type != b->type)
    wrong("select", {c, a->type, b->type});
  if (is_constant(condition)) return condition->value.bits[0] != 0 ? a : b;
  if (a == b) return a;
  const Type t = a->type;
  if (t.dtype == DType::boolean && c == t && is_bool_constant(a, true) && is_bool_constant(b, false)) return condition;
  return make({.kind = ValueNode::select, .type = t, .args = {std::move(condition), std::move(a), std::move(b)}});
}

Expr cast(DType to, Expr a) {
  if (a->type.dtype == to) return a;
  with_type(to, [](auto) {});
  if (is_constant(a)) return constant(fold_cast(to, a->value), a->type.lanes);
  const Type t{to, a->type.lanes};
  return make({.kind = ValueNode::cast, .type = t, .args = {std::move(a)}});
}

Expr fma(Expr a, Expr b, Expr c) {
  const Type t = a->type;
  if (b->type != t || c->type != t || t.dtype == DType::boolean) wrong("fma", {a->type, b->type, c->type});
  if (is_int(t)) return binary(Op::add, binary(Op::mul, std::move(a), std::move(b)), std::move(c));
  if (is_constant(a) && is_constant(b) && is_constant(c))
    return constant(fold_fma(a->value, b->value, c->value), t.lanes);
  return make({.kind = ValueNode::fma, .type = t, .args = {std::move(a), std::move(b), std::move(c)}});
}

Expr broadcast(Expr a, int lanes) {
  check_lanes(lanes);
  if (a->type.lanes == lanes) return a;
  if (a->type.lanes != 1) wrong("broadcast to " + std::to_string(lanes) + " lanes", {a->type});
  if (is_constant(a)) return constant(a->value, lanes);
  const Type t{a->type.dtype, lanes};
  return make({.kind = ValueNode::broadcast, .type = t, .args = {std::move(a)}});
}

Expr lane(Expr a, int which) {
  if (which < 0 || which >= a->type.lanes) wrong("lane " + std::to_string(which), {a->type});
  if (a->type.lanes == 1) return a;
  if (is_constant(a)) return constant(a->value);
  if (a->kind == ValueNode::broadcast) return a->args[0];
  const Type t{a->type.dtype, 1};
  return make({.kind = ValueNode::lane, .type = t, .index = which, .args = {std::move(a)}});
}

Expr blend(Expr a, Expr b, int first) {
  const Type t = a->type;
  if (b->type != t || first < 0 || first > t.lanes) wrong("blend at " + std::to_string(first), {t, b->type});
  if (first == 0 || a == b) return b;
  if (first == t.lanes) return a;
  return make({.kind = ValueNode::blend, .type = t, .index = first, .args = {std::move(a), std::move(b)}});
}

Expr reduce_lanes(Op op, Expr a) {
  const bool folds =
      op == Op::add || op == Op::mul || op == Op::min || op == Op::max || op == Op::bit_and || op == Op::bit_or;
  if (!folds || !is_defined(op, a->type.dtype)) wrong("reduce_lanes by " + std::string(name_of(op)), {a->type});
  if (a->type.lanes == 1) return a;
  const Type t{a->type.dtype, 1};
  return make({.kind = ValueNode::reduce_lanes, .type = t, .op = op, .args = {std::move(a)}});
}

Expr reduce_lanes(Op op, std::vector<Expr> each) {
  if (each.size() == 1) return reduce_lanes(op, each[0]);
  const int n = static_cast<int>(each.size());
  bool fits = n > 1 && (n & (n - 1)) == 0 && n <= each[0]->type.lanes;
  for (const auto& a : each) fits = fits && a->type == each[0]->type;
  if (!fits || reduce_lanes(op, each[0])->kind != ValueNode::reduce_lanes)
    wrong("reduce_lanes by " + std::string(name_of(op)) + " of " + std::to_string(n), {each.at(0)->type});
  const Type t{each[0]->type.dtype, n};
  return make({.kind = ValueNode::reduce_lanes, .type = t, .op = op, .args = std::move(each)});
}

Expr floor_div(Expr a, std::int64_t b) {
  Expr d = like(a, b);
  return binary(Op::floor_div, std::move(a), std::move(d));
}
Expr floor_mod(Expr a, std::int64_t b) {
  Expr d = like(a, b);
  return binary(Op::floor_mod, std::move(a), std::move(d));
}
Expr lt(Expr a, Expr b) { return binary(Op::lt, std::move(a), std::move(b)); }
Expr le(Expr a, Expr b) { return binary(Op::le, std::move(a), std::move(b)); }
Expr gt(Expr a, Expr b) { return binary(Op::gt, std::move(a), std::move(b)); }
Expr ge(Expr a, Expr b) { return binary(Op::ge, std::move(a), std::move(b)); }
Expr eq(Expr a, Expr b) { return binary(Op::eq, std::move(a), std::move(b)); }
Expr ne(Expr a, Expr b) { return binary(Op::ne, std::move(a), std::move(b)); }
Expr min(Expr a, Expr b) { return binary(Op::min, std::move(a), std::move(b)); }
Expr max(Expr a, Expr b) { return binary(Op::max, std::move(a), std::move(b)); }

Expr logical_and(Expr a, Expr b) {
  const Type boolean{DType::boolean, 1};
  if (a->type != boolean || b->type != boolean) wrong("logical_and", {a->type, b->type});
  if (is_bool_constant(b, true) || is_bool_constant(a, false)) return a;
  if (is_bool_constant(b, false)) return b;
  return select(std::move(a), std::move(b), bool_const(false));
}
Expr logical_or(Expr a, Expr b) {
  const Type boolean{DType::boolean, 1};
  if (a->type != boolean || b->type != boolean) wrong("logical_or", {a->type, b->type});
  if (is_bool_constant(b, false) || is_bool_constant(a, true)) return a;
  if (is_bool_constant(b, true)) return b;
  return select(std::move(a), bool_const(true), std::move(b));
}
Expr logical_not(Expr a) { return unary(Op::logical_not, std::move(a)); }

bool is_constant(const Expr& e, std::int64_t value) { return is_int_constant(e, value); }

}  // namespace strata::ir
