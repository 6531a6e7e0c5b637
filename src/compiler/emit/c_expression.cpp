#include "compiler/emit/c_expression.h"

#include <algorithm>
#include <bit>
#include <optional>

#include "base/small_float.h"
#include "compiler/emit/literal.h"
#include "ir/semantics.h"
#include "strata/error.h"

namespace strata {

using ir::Expr;
using ir::Op;
using ir::Type;
using ir::ValueNode;

namespace {

constexpr int primary = 15, prefix = 14, times = 13, plus = 12, shift = 11, relation = 10, equality = 9, bit_and = 8,
              bit_xor = 7, bit_or = 6, both = 5, either = 4, choice = 3;

std::string wrap(std::string text, int own, int outer) {
  return own < outer ? "(" + std::move(text) + ")" : std::move(text);
}

/// C computes these in int, so the result must be cut to its width.
bool is_narrow(DType t) { return (is_integer(t) && size_of(t) < 4); }

struct Infix {
  const char* sign;
  int own, left, right;  ///< strength, and what it asks of its sides: enough that no compiler suggests more parentheses
};
Infix infix(Op op) {
  switch (op) {
    case Op::add: return {"+", plus, plus, times};
    case Op::sub: return {"-", plus, plus, times};
    case Op::mul: return {"*", times, times, prefix};
    case Op::div: return {"/", times, times, prefix};
    case Op::bit_and: return {"&", bit_and, prefix, prefix};
    case Op::bit_or: return {"|", bit_or, prefix, prefix};
    case Op::bit_xor: return {"^", bit_xor, prefix, prefix};
    case Op::shift_left: return {"<<", shift, prefix, prefix};
    case Op::shift_right: return {">>", shift, prefix, prefix};
    case Op::eq: return {"==", equality, plus, plus};
    case Op::ne: return {"!=", equality, plus, plus};
    case Op::lt: return {"<", relation, plus, plus};
    case Op::le: return {"<=", relation, plus, plus};
    case Op::gt: return {">", relation, plus, plus};
    case Op::ge: return {">=", relation, plus, plus};
    default: return {nullptr, 0, 0, 0};
  }
}

bool is_bool_constant(const Expr& e, bool value) {
  return e->kind == ValueNode::constant && e->type.dtype == DType::boolean && (e->value.bits[0] != 0) == value;
}

/// log2 of a constant power of two.
std::optional<int> power_of_two(const Expr& e) {
  if (e->kind != ValueNode::constant) return std::nullopt;
  const Scalar s = e->value;
  if (s.dtype == DType::u64 ? s.is_zero() : s.to_int64() <= 0) return std::nullopt;
  const auto v = static_cast<std::uint64_t>(ir::fold_cast(DType::i64, s).to_int64());
  if (!std::has_single_bit(v)) return std::nullopt;
  return std::countr_zero(v);
}

bool is_named(const Expr& e) {
  return e->kind == ValueNode::constant || e->kind == ValueNode::variable || e->kind == ValueNode::scalar_param;
}

/// May be computed whether it is asked for or not, and takes no longer than a jump around it: a few operations on what
/// is in registers.
bool is_quick(const Expr& e) {
  if (is_named(e)) return true;
  const bool slow_op = e->op == Op::div || e->op == Op::floor_div || e->op == Op::floor_mod;
  const bool quick =
      e->kind == ValueNode::select || (e->kind == ValueNode::binary && !slow_op) ||
      (e->kind == ValueNode::unary && (e->op == Op::neg || e->op == Op::abs || e->op == Op::logical_not));
  return quick && e->type.lanes == 1 && std::ranges::all_of(e->args, is_quick);
}

DType unsigned_type(DType t) {
  return is_signed_int(t)
             ? static_cast<DType>(static_cast<int>(t) + (static_cast<int>(DType::u8) - static_cast<int>(DType::i8)))
             : t;
}

}  // namespace

std::string CExpression::operator()(const Expr& e, int outer) {
  switch (e->kind) {
    case ValueNode::constant: {
      std::string text = constant(*e);
      return text[0] == '-' ? wrap(std::move(text), prefix, outer) : text;
    }
    case ValueNode::variable:
    case ValueNode::scalar_param: return name_of_(e->name);
    case ValueNode::load: return load(e, outer);
    case ValueNode::unary: return unary(e, outer);
    case ValueNode::binary: return binary(e, outer);
    case ValueNode::select: return select(e, outer);
    case ValueNode::cast: return cast(e, outer);
    case ValueNode::fma: return call(prologue_.fma(e->type), e);
    case ValueNode::broadcast: {
      const std::string value = (*this)(e->args[0]);
      return prologue_.splat(e->type) + "(" + (e->type.dtype == DType::boolean ? "(i8)-(" + value + ")" : value) + ")";
    }
    case ValueNode::lane: {
      const std::string text = (*this)(e->args[0], primary) + "[" + std::to_string(e->index) + "]";
      return e->type.dtype == DType::boolean ? wrap(text + " != 0", equality, outer) : text;
    }
    case ValueNode::blend: return call(prologue_.blend(e->type, e->index), e);
    case ValueNode::reduce_lanes:
      return call(prologue_.reduce(e->op, e->args[0]->type, static_cast<int>(e->args.size())), e);
  }
  throw InternalError("emit: an expression of unknown kind");
}

std::string CExpression::constant(const ValueNode& e) {
  if (e.type.lanes == 1) return literal(e.value);
  Scalar plus_zero = Scalar::zero(e.value.dtype);
  if (e.value.same_bits(plus_zero)) return "(" + prologue_.type(e.type) + "){0}";
  return prologue_.splat(e.type) + "(" + (e.type.dtype == DType::boolean ? "-1" : literal(e.value)) + ")";
}

std::string CExpression::typed(const Expr& e, int outer) {
  const bool plain =
      e->kind != ValueNode::constant || e->type.lanes > 1 || is_float(e->type.dtype) || e->type.dtype == DType::i32;
  return plain ? (*this)(e, outer) : wrap("(" + prologue_.type(e->type) + ")" + (*this)(e, prefix), prefix, outer);
}

std::string CExpression::call(const std::string& name, const Expr& e) {
  std::string text = name + "(";
  for (std::size_t i = 0; i < e->args.size(); ++i) text += (i ? ", " : "") + (*this)(e->args[i]);
  return text + ")";
}

std::string CExpression::unary(const Expr& e, int outer) {
  const Type t = e->args[0]->type;
  const bool vector = t.lanes > 1;
  if (e->op == Op::abs && is_unsigned_int(t.dtype)) return (*this)(e->args[0], outer);
  const char* sign = e->op == Op::neg           ? "-"
                     : e->op == Op::bit_not     ? "~"
                     : e->op == Op::logical_not ? (vector ? "~" : "!")
                                                : nullptr;
  if (!sign) return call(prologue_.unary(e->op, t), e);
  std::string text = sign + typed(e->args[0], prefix);
  if (!vector && is_narrow(t.dtype)) text = "(" + prologue_.type(t) + ")" + text;
  // Compilers take !x & y and !x == y for slips, unless they know y to be a truth.
  return wrap(text, text[0] == '!' ? equality : prefix, outer);
}

std::string CExpression::binary(const Expr& e, int outer) {
  const Expr &a = e->args[0], &b = e->args[1];
  const Type t = a->type;
  const bool vector = t.lanes > 1;
  if (e->op == Op::floor_div || e->op == Op::floor_mod) return divide(e, outer);
  if (e->op == Op::min || e->op == Op::max) return call(prologue_.binary(e->op, t), e);
  if (ir::is_compare(e->op) && vector) return wrap(mask(e, 1), prefix, outer);

  // g++ 12 takes 0.0 - x for -x where it knows that x is not -0.0, and so makes -0.0 of 0.
  const bool never_minus_zero = (b->kind == ValueNode::cast && !is_float(b->args[0]->type.dtype)) ||
                                (b->kind == ValueNode::unary && b->op == Op::abs);
  if (e->op == Op::sub && never_minus_zero && a->kind == ValueNode::constant &&
      a->value.same_bits(Scalar::zero(t.dtype)) && is_float(t.dtype))
    return (*this)(ir::select(ir::binary(Op::eq, b, a), a, ir::unary(Op::neg, b)), outer);

  const Infix sign = infix(e->op);
  const bool orders = e->op == Op::lt || e->op == Op::le || e->op == Op::gt || e->op == Op::ge;
  if (orders && t.dtype == DType::boolean) {  // compilers warn of ordered truths
    const bool less = e->op == Op::lt || e->op == Op::le, strict = e->op == Op::lt || e->op == Op::gt;
    const std::string x = (*this)(a, prefix), y = (*this)(b, prefix);
    const auto negated = [](const std::string& text) { return "(!" + text + ")"; };
    return wrap((less ? negated(x) : x) + (strict ? " & " : " | ") + (less ? y : negated(y)), strict ? bit_and : bit_or,
                outer);
  }
  std::string left = (*this)(a, sign.left), right = (*this)(b, sign.right);
  const bool shifts = e->op == Op::shift_left || e->op == Op::shift_right;
  if (shifts) {
    const int last_bit = static_cast<int>(8 * size_of(t.dtype)) - 1;
    if (b->kind == ValueNode::constant) {
      const auto by = ir::fold_cast(DType::i64, b->value).to_int64() & last_bit;
      right = vector ? prologue_.splat(t) + "(" + std::to_string(by) + ")" : std::to_string(by);
    } else {
      right = "(" + right + " & " + std::to_string(last_bit) + ")";
    }
    if (a->kind == ValueNode::constant && !vector) left = typed(a, prefix);
    if (e->op == Op::shift_right && is_signed_int(t.dtype)) {
      const std::string u = prologue_.type(unsigned_type(t.dtype), t.lanes);
      if (vector) right = "(" + u + ")" + right;
      return wrap("(" + prologue_.type(t) + ")((" + u + ")" + left + " >> " + right + ")", prefix, outer);
    }
  }
  std::string text = left + " " + sign.sign + " " + right;
  if (!vector && is_narrow(t.dtype) && !ir::is_compare(e->op))
    return wrap("(" + prologue_.type(t) + ")(" + text + ")", prefix, outer);
  return wrap(std::move(text), sign.own, outer);
}

/// By a power of two the floor is an arithmetic shift or a mask; everything else is a helper, cheap where the divisor
/// is constant.
std::string CExpression::divide(const Expr& e, int outer) {
  const Expr &a = e->args[0], &b = e->args[1];
  const auto power = is_float(b->type.dtype) ? std::nullopt : power_of_two(b);
  if (!power || a->kind == ValueNode::constant) return call(prologue_.binary(e->op, a->type), e);
  const bool vector = a->type.lanes > 1;
  const std::string left = (*this)(a, prefix);
  if (e->op == Op::floor_div) {
    const std::string by =
        vector ? prologue_.splat(a->type) + "(" + std::to_string(*power) + ")" : std::to_string(*power);
    return wrap(left + " >> " + by, shift, outer);
  }
  Scalar ones = Scalar::of((std::int64_t{1} << *power) - 1).as(a->type.dtype);
  const std::string with = vector ? prologue_.splat(a->type) + "(" + literal(ones) + ")" : literal(ones);
  return wrap(left + " & " + with, bit_and, outer);
}

std::string CExpression::mask(const Expr& e, std::size_t bytes) {
  const Type own = Prologue::mask_type({bytes == 1   ? DType::i8
                                        : bytes == 2 ? DType::i16
                                        : bytes == 4 ? DType::i32
                                                     : DType::i64,
                                        e->type.lanes});
  const std::string name = prologue_.type(own);
  const bool compares = e->kind == ValueNode::binary && ir::is_compare(e->op);
  if (compares) {
    const Type t = e->args[0]->type;
    const Infix sign = infix(e->op);
    // Masks of booleans are negative where they are true: they compare the other way round.
    const bool turn = t.dtype == DType::boolean;
    const std::string left = (*this)(e->args[turn ? 1 : 0], sign.left),
                      right = (*this)(e->args[turn ? 0 : 1], sign.right);
    const std::string text = "(" + left + " " + sign.sign + " " + right + ")";
    const bool same = size_of(t.dtype) == bytes;
    return same ? "(" + name + ")" + text : "__builtin_convertvector(" + text + ", " + name + ")";
  }
  if (e->kind == ValueNode::binary && e->op != Op::min && e->op != Op::max) {
    const Infix sign = infix(e->op);
    return "(" + mask(e->args[0], bytes) + " " + sign.sign + " " + mask(e->args[1], bytes) + ")";
  }
  if (e->kind == ValueNode::unary) return "~" + mask(e->args[0], bytes);
  return bytes == 1 ? (*this)(e, prefix) : "__builtin_convertvector(" + (*this)(e) + ", " + name + ")";
}

std::string CExpression::select(const Expr& e, int outer) {
  const Expr &c = e->args[0], &a = e->args[1], &b = e->args[2];
  if (c->type.lanes > 1) {
    const std::size_t bytes = size_of(e->type.dtype);
    return prologue_.select(e->type) + "(" + mask(c, bytes) + ", " + (*this)(a) + ", " + (*this)(b) + ")";
  }
  if (e->type == Type{DType::boolean, 1} && is_bool_constant(b, false))
    return wrap((*this)(c, equality) + " && " + (*this)(a, equality), both, outer);
  if (e->type == Type{DType::boolean, 1} && is_bool_constant(a, true))
    return wrap((*this)(c, equality) + " || " + (*this)(b, equality), either, outer);
  if (e->type.lanes > 1) {
    // gcc finds that the types of the arms differ unless they are cast: arithmetic loses a typedef's alignment.
    const std::string as = "(" + prologue_.type(e->type) + ")";
    return wrap(condition(c, equality) + " ? " + as + (*this)(a, prefix) + " : " + as + (*this)(b, prefix), choice,
                outer);
  }
  // Of a choice inside a choice clang makes jumps, and so no vectors, but not of a function's arguments.
  if (is_quick(a) && is_quick(b) && (!is_named(a) || !is_named(b)))
    return prologue_.select(e->type) + "(" + condition(c, 0) + ", " + typed(a, 0) + ", " + typed(b, 0) + ")";
  return wrap(condition(c, equality) + " ? " + typed(a, either) + " : " + typed(b, either), choice, outer);
}

std::string CExpression::condition(const Expr& c, int outer) {
  if (c->kind != ValueNode::select || !is_quick(c)) return (*this)(c, outer);
  const Expr &a = c->args[1], &b = c->args[2];
  const bool all = is_bool_constant(b, false), any = is_bool_constant(a, true);
  if (!all && !any) return (*this)(c, outer);
  return wrap(condition(c->args[0], prefix) + (all ? " & " : " | ") + condition(all ? a : b, prefix),
              all ? bit_and : bit_or, outer);
}

std::string CExpression::cast(const Expr& e, int outer) {
  const Expr& a = e->args[0];
  const Type from = a->type, to = e->type;
  if (is_float(from.dtype) && is_integer(to.dtype)) return call(prologue_.cast(to, from), e);
  const std::string name = prologue_.type(to);
  if (to.lanes == 1) {
    if (to.dtype == DType::boolean) return wrap(typed(a, plus) + " != 0", equality, outer);
    return wrap("(" + name + ")" + (*this)(a, prefix), prefix, outer);
  }
  if (to.dtype == DType::boolean) {
    const std::string truth = "(" + (*this)(a, plus) + " != 0)";
    return size_of(from.dtype) == 1 ? wrap("(" + name + ")" + truth, prefix, outer)
                                    : "__builtin_convertvector(" + truth + ", " + name + ")";
  }
  return "__builtin_convertvector(" + (from.dtype == DType::boolean ? "-" + (*this)(a, prefix) : (*this)(a)) + ", " +
         name + ")";
}

std::string CExpression::load(const Expr& e, int outer) {
  const ir::BufferParam& b = f_.buffers.at(static_cast<std::size_t>(e->index));
  const std::string index = (*this)(e->args[0]), element = b.name + "[" + index + "]";
  const int lanes = e->type.lanes;
  if (b.packed_bits > 0)
    return prologue_.load_packed(lanes) + "(" + b.name + ", " + index + ", " + std::to_string(b.packed_bits) + ")";
  const bool small_float = is_small_float(b.dtype);
  if (lanes == 1) {
    if (small_float) return prologue_.widen(b.dtype) + "(" + element + ")";
    return b.dtype == DType::boolean ? wrap(element + " != 0", equality, outer) : element;
  }
  if (small_float) return prologue_.load(b.dtype, lanes) + "(&" + element + ")";
  const std::string type = prologue_.storage(b.dtype, lanes), whole = "*(const " + type + "*)&" + element;
  // A star beside a times sign would be hard to read: in parentheses wherever it is part of something.
  return b.dtype == DType::boolean ? wrap("(" + prologue_.type(e->type) + ")(" + whole + " != 0)", prefix, outer)
                                   : wrap(whole, 1, outer);
}

}  // namespace strata
